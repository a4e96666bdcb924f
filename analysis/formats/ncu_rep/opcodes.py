"""Names of machine instructions by the low nine bits of their first word (sm_70 to sm_90).

Found by comparing per-address counts with the report's own counts per opcode, and with the disassembly that ncu
prints. It is a label, not a disassembly: operands and modifiers are not decoded.
"""

from __future__ import annotations

_TABLE = """
002 MOV      003 P2R      005 CS2R     007 SEL      008 FSEL     009 FMNMX    00b FSETP    00c ISETP    010 IADD3
011 LEA      012 LOP3     016 PRMT     017 IMNMX    019 SHF      01a SGXT     01c PLOP3    020 FMUL     021 FADD
023 FFMA     024 IMAD     025 IMAD     027 IMAD     028 DMUL     029 DADD     02a DSETP    02b DFMA     030 HADD2
031 HFMA2    032 HMUL2    035 HFMA2    036 VIADD    037 IMMA     039 I2IP     03b LDSM     03c HMMA     03e F2FP
045 I2FP     082 UMOV     086 VOTEU    087 USEL     08c UISETP   090 UIADD3   091 ULEA     092 ULOP3    096 UPRMT
099 USHF     0a4 UIMAD    0a5 UIMAD    0b9 ULDC     0bd UFLO     102 FCHK     105 F2I      106 I2F      107 FRND
108 MUFU     109 POPC     112 I2F      118 NOP      119 S2R      11a DEPBAR   11d BAR      141 BSYNC    143 CALL
144 CALL     145 BSSY     147 BRA      148 WARPSYNC 14d EXIT     150 RET      155 BMOV     181 LDG      182 LDC
183 LDL      184 LDS      186 STG      187 STL      188 STS      189 SHFL     18c ATOMS    18e RED      1ae LDGSTS
1af LDGDEPBAR 1c2 R2UR     1c3 S2UR     1c4 REDUX
"""
_WORDS = _TABLE.split()
NAMES = {int(code, 16): name for code, name in zip(_WORDS[::2], _WORDS[1::2], strict=True)}
RENAMED_SM90 = {0x18E: "REDG"}
LAST_KNOWN_LEVEL = 9


def mnemonic(word: int, level: int) -> str:
    """The name of an instruction; ``level`` is the report's SASS level (7, 8, 9 ...). Unknown ones read ``?1f0``."""
    code = word & 0x1FF
    unknown = f"?{code:03x}"
    if level > LAST_KNOWN_LEVEL:
        return unknown
    if level == LAST_KNOWN_LEVEL and code in RENAMED_SM90:
        return RENAMED_SM90[code]
    return NAMES.get(code, unknown)
