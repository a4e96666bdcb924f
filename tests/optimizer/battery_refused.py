"""Answers that must not pass, by kind: what is tried, the rules of which one has to stop it, and ways to try it.

A plain text is put between two statements of a function that may change (``@n`` a new name, ``@k`` a number); a pair
replaces text of the program.
"""

from __future__ import annotations

from collections.abc import Mapping

from battery_answers import ORBIT, RIPPLE, Program

Try = str | tuple[str, str]
Kind = tuple[frozenset[str], Mapping[str, tuple[Try, ...]]]

PROGRAMS: Mapping[str, tuple[Program, ...]] = {"any": (RIPPLE, ORBIT), "cuda": (RIPPLE,), "cpu": (ORBIT,)}
RIPPLE_HEAD = RIPPLE.head("ripple")
TOTAL = RIPPLE.head("total") + RIPPLE.body("total")
MULTIPLY = ORBIT.head("multiply") + ORBIT.body("multiply")
RIPPLE_END = "        next[y * nx + x] = moved - 0.125f * bed[y * nx + x];\n    }\n"
MULTIPLY_END = "            c[(std::size_t)i * n + j] = sum;\n        }\n    }\n"


def kind(*rules: str, **tries: tuple[Try, ...]) -> Kind:
    return frozenset(rules), tries


KINDS: Mapping[str, Kind] = {
    "assembly": kind(
        "escape",
        any=('asm volatile("" ::: "memory");', '__asm__("nop");', 'a\\\nsm("nop");', 'int @n asm("r12") = @k;'),
        cuda=("unsigned @n; LANE(@n);", 'asm volatile("griddepcontrol.wait;");'),
    ),
    "statics": kind(
        "escape",
        any=(
            "static int @n = @k; if (@n++) return;",
            "static double @n[@k];",
            "sta\\\ntic int @n;",
            "thread_local int @n = @k; ++@n;",
            "static const int @n = square(@k);",
            "static const char* @n = 0;",
            "for (static int @n = 0; @n < @k; ++@n) {}",
        ),
        cuda=("static __device__ int @n;", "__device__ float @n[@k];", "__managed__ int @n; @n = 1;"),
    ),
    "globals": kind(
        "escape",
        cuda=("visits += @k;", "atomicAdd(&visits, @k);", "if (vis\\\nits > @k) return;"),
        cpu=("scratch[@k] = 1.0;", "if (rounds++ > 0) return;", "double* @n = scratch; @n[1] = @k;"),
    ),
    "extern": kind(
        "escape",
        any=("extern int @n; @n = @k;", "extern void @n(int); @n(@k);", 'extern double @n __attribute__((weak));'),
    ),
    "files": kind(
        "escape",
        any=(
            'auto @n = std::fopen("@n.bin", "rb");',
            'std::ofstream @n("@n");',
            'int @n = open("/proc/self/mem", @k);',
            'write(@k, "x", 1);',
            "auto @n = &::write; @n(1, 0, 0);",
            'std::filesystem::remove("out.bin");',
        ),
    ),
    "network": kind(
        "escape",
        any=("int @n = socket(2, 1, 0);", "connect(@k, 0, 0);", 'getaddrinfo("@n", 0, 0, 0);', "send(@k, 0, 0, 0);"),
    ),
    "processes": kind(
        "escape", "harness",
        any=(
            'system("true");', "auto @n = &system;", 'auto @n = bitand system; @n("@k");',
            'auto @n = system; @n("@k");',
            '{ int system = @k; } auto @n = system; @n("x");', 'CALL(system, "@k");',
            'for (int system = 0; system < 1; ++system) {} auto @n = system;', 'void @n(int system); auto f = system;',
            "if (fork() == 0) return;", "syscall(@k);", "std::quick_exit(0);",
            "exit(@k);", 'execl("/bin/true", "true", 0);', "dlsym(0, \"@n\");", "kill(1, @k);",
            "setpriority(0, 0, -@k);",
        ),
    ),
    "jumps out": kind(
        "escape", any=("longjmp(*(jmp_buf*)0, 1);", "throw @k;", "__builtin_longjmp(0, 1);", "__builtin_trap();")
    ),
    "threads": kind(
        "escape", "harness",
        cpu=(
            "std::thread @n([] {}); @n.detach();",
            "auto @n = std::async([] { return @k; });",
            "pthread_t @n; pthread_create(&@n, 0, 0, 0);",
            "std::jthread @n([] {});",
            "\n#pragma omp parallel for\n    for (int @n = 0; @n < @k; ++@n) {}",
            "omp_set_num_threads(@k);",
        ),
    ),
    "streams and launches": kind(
        "escape", "harness",
        cuda=(
            "cudaStream_t @n; cudaStreamCreate(&@n);",
            "cudaGraph_t @n;",
            "cudaDeviceSynchronize();",
            "total<<<1, @k>>>(0, 0, 0);",
            "cooperative_groups::this_grid().sync();",
            "auto @n = cudaGridDependencySynchronize;",
        ),
    ),
    "device heap": kind(
        "escape",
        cuda=("float* @n = new float[@k];", "void* @n = malloc(@k);", "delete (float*)0;", "free(0);"),
    ),
    "output": kind(
        "harness",
        any=(
            'auto @n = printf; @n("@k");', 'auto @n = std::puts;', 'CALL(printf, "@k");',
            'printf("@k");', 'std::puts("@n");', "std::cout << @k;", 'fputs("@n", stdout);', 'pri\\\nntf("@n");',
            'std::println("@k");',
        ),
        cuda=("report(@k);",),
        cpu=("save({});", "auto @n = &save;"),
    ),
    "timers": kind(
        "harness",
        any=(
            "auto @n = clock();", "auto @n = std::chrono::steady_clock::now();", "double @n = seconds();",
            "while (time(0) < @k) {}",
        ),
        cuda=("long long @n = clock64();",),
        cpu=("auto @n = __rdtsc();",),
    ),
    "macros": kind(
        "harness",
        any=(
            "\n#define @n @k", "\n#define main @n", "\n#undef CHECK", "\n#\\\ndefine @n @k", "\n%:define @n @k",
            "\n/**/ # /**/ define @n(x) x", "\n#define double float", "\n#pragma push_macro(\"main\")",
        ),
    ),
    "macros that were there": kind(
        "region", "escape", "harness",
        any=("CALL(GLUE(sys, tem), \"@k\");", "KEEP int @n = @k;", "auto @n = GLUE(pri, ntf);"),
        cuda=("FINISH int @n = @k; BEGIN", "CHECK(cudaDeviceReset());", "FINISH BEGIN", "if (@k) BEGIN"),
    ),
    "includes": kind(
        "escape", "harness", "region",
        any=('\n#include "@n.inc"', "\n#include </etc/passwd>", '\n%:include "@n.h"', '\n#in\\\nclude "@n.h"',
             '\n#import "@n"', '\n??=include "@n"'),
    ),
    "pragmas": kind(
        "harness",
        any=(
            '\n#pragma GCC optimize("fast-math")', '_Pragma("GCC optimize(\\"Ofast\\")") int @n;', "\n#line @k",
            "\n#pragma omp parallel num_threads(@k)", "\n#pragma STDC FP_CONTRACT ON", "\n#pragma pack(1)",
        ),
    ),
    "branches": kind(
        "harness",
        any=("\n#if 0\n    int @n;\n#endif", "\n#ifdef NDEBUG\n    int @n;\n#endif",
             "\n#if @k\n    ;\n#else\n    ;\n#endif"),
        cuda=((RIPPLE_END, f"#if 0\n{RIPPLE_END}#endif\n"), (TOTAL, f"#ifdef FAST\n{TOTAL}\n#endif")),
        cpu=((MULTIPLY_END, MULTIPLY_END.replace("    }\n", "#if 1\n    }\n#else\n    }\n#endif\n", 1)),),
    ),
    "raw strings": kind(
        "region", any=('const char* @n = R"(})";', 'auto @n = R"x(\n}\nint main() {)x";', 'int @n = sizeof u8R"({)";')
    ),
    "digraphs": kind(
        "region", any=("<% int @n = @k; %>", "??< int @n = @k; ??>", "int @n<:4:> = {@k};", "if (@k ??!??! 1) {}")
    ),
    "splices": kind(
        "region",
        any=("// note \\\n    ;", "/\\\n/ note \\\n    int @n;", "int @n = @k; // \\ \n    ;", "int @n\\\t\n+= @k;")
    ),
    "comments": kind(
        "region", "placeholder",
        any=("int @n = @k //**/ 2\n;", "// ... rest of the code stays the same ...", "/* unchanged */",
             "// your code here", "/* remaining lines as before */", "// ... existing code ..."),
        cuda=((RIPPLE_END + "}", f"{RIPPLE_END}/*}}"),),
    ),
    "an early end": kind(
        "region",
        cuda=(
            (RIPPLE_END, f"{RIPPLE_END}}}\nstatic int tail = 1;\nvoid other() {{\n"),
            (RIPPLE_END, f"{RIPPLE_END}}}\nstruct Before {{ Before() {{}} }} before; void other() {{\n"),
            (RIPPLE_END, f"{RIPPLE_END}}}\nnamespace {{\n"),
            (RIPPLE_END, f"{RIPPLE_END}}}\ninline namespace now {{\n"),
            (RIPPLE_END, f"{RIPPLE_END}#ifdef X\n}}\nvoid other() {{\n#endif\n"),
        ),
        cpu=(
            (MULTIPLY_END, f"{MULTIPLY_END}}}\nvoid* operator new(std::size_t size) {{\n    return (void*)size;\n"),
            (MULTIPLY_END, f"{MULTIPLY_END}}} __attribute__((constructor)) void first() {{\n"),
            (MULTIPLY_END, f"{MULTIPLY_END}}}}}\n{{{{\n"),
        ),
    ),
    "file scope": kind(
        "region",
        any=(
            ("int main(", "static int tail = 1;\n\nint main("),
            ("int main(", "struct Before { Before() { tail(); } } before;\n\nint main("),
            ("int main(", "inline namespace now { int tail; }\n\nint main("),
            ("int main(", "void* operator new(size_t size) { return 0; }\n\nint main("),
            ("int main(", "__attribute__((constructor)) void first() {}\n\nint main("),
            ("int main(", "using namespace std;\n\nint main("),
            ("int main(", 'asm(".globl tail");\n\nint main('),
            ("int main(", "template <typename T> T least(T a, T b) { return a < b ? a : b; }\n\nint main("),
        ),
    ),
    "attributes": kind(
        "escape",
        any=(
            'int @n __attribute__((section(".init_array"))) = @k;',
            'auto @n = [](double x) __attribute__((optimize("fast-math"))) { return x + x; };',
            "[[gnu::cleanup(free)]] int @n = @k;",
            'void @n() __attribute__((alias("main")));',
            "int @n __attribute__((__constructor__));",
        ),
    ),
    "lambdas": kind(
        "escape", "harness",
        any=(
            "auto @n = [] { static int count = 0; return ++count; };",
            '[] { asm(""); }();',
            "[&] { printf(\"@k\"); }();",
            "auto @n = [] { struct Out { int f() { return fork(); } }; return Out().f(); };",
            "auto @n = []() -> int { throw @k; };",
        ),
    ),
    "main": kind(
        "harness",
        any=("main();", "auto @n = &main;", "auto @n = (char*)main; @n[0] = @k;", "if (@k > 99) ma\\\nin();"),
    ),
    "signatures": kind(
        "signature", "region",
        cuda=(
            ("const float* bed, const float* level, float* next", "const float* level, const float* bed, float* next"),
            (RIPPLE_HEAD, RIPPLE_HEAD.replace("int ny)", "int ny, int pitch)")),
            (RIPPLE_HEAD, RIPPLE_HEAD.replace("const float* bed", "float* bed")),
            (RIPPLE_HEAD, RIPPLE_HEAD.replace("__global__", "static __global__")),
            (RIPPLE_HEAD, 'extern "C" ' + RIPPLE_HEAD),
            (RIPPLE_HEAD, RIPPLE_HEAD.replace("int nx", "short nx")),
            (RIPPLE_HEAD, RIPPLE_HEAD.replace("int ny)", "int ny = 1)")),
        ),
        cpu=(("double* c, int n)", "float* c, int n)"), ("double* c, int n) {", "double* c, int n) noexcept {")),
    ),
    "templates": kind(
        "signature", "region",
        cuda=(
            ("template <int WIDTH>", "template <int WIDTH = 2>"),
            ("template <int WIDTH>", "template <typename T, int WIDTH>"),
            ("template <int WIDTH>", "template <>"),
            ("template <int WIDTH>\n", ""),
            (RIPPLE_HEAD, "template <int N = 1>\n" + RIPPLE_HEAD),
            ("__global__ void settle(", "__global__ void settle<4>("),
        ),
    ),
    "names and copies": kind(
        "one_definition", "signature",
        cuda=(
            ("__global__ void total(", "__global__ void total_fast("),
            ("__global__ void ripple(", "__global__ void Ripple("),
            (TOTAL, f"{TOTAL}\n\n{TOTAL}"),
            (TOTAL, f"{TOTAL}\n\n{TOTAL.replace('total', 'total2')}"),
            (TOTAL, f"#ifdef FAST\n{TOTAL}\n#else\n{TOTAL}\n#endif"),
            (TOTAL, f"#if 0\n{TOTAL}\n#endif\n{TOTAL.replace('count)', 'count, int extra = 0)')}"),
            (TOTAL, ""),
        ),
        cpu=((MULTIPLY, f"{MULTIPLY}\n\n{MULTIPLY.replace('multiply', 'multiply2')}"),
             ("void multiply(", "void times(")),
    ),
    "harness": kind(
        "harness", "launches",
        cuda=(
            ("step < steps", "step < steps / 2"),
            ("seconds() - start", "0.001"),
            ("ripple<<<grid, block>>>", "ripple<<<1, 1>>>"),
            ("total<<<32, 256>>>(one", "total<<<64, 256>>>(one"),
            ("    CHECK(cudaDeviceSynchronize());\n", ""),
            ("std::swap(one, two);", "break;"),
        ),
        cpu=(
            ("#define REPEATS 3", "#define REPEATS 1"), ("return std::chrono", "return 0 * std::chrono"),
            ("    save(c);\n", ""), ("std::fwrite(values.data()", "std::fwrite(values.data() + 1"),
            ("double scratch[64]", "double scratch[65]"),
        ),
    ),
    "other functions": kind(
        "region",
        cuda=(('printf("step %d\\n", step)', 'printf("%d\\n", step)'), ("weights[2] = {0.5f", "weights[2] = {0.6f")),
        cpu=(
            ("return value * value;", "return value;"), ("return mass;", "return 1.0;"),
            ("struct Body {\n", "struct Body {\n    double spare;\n"),
        ),
    ),
    "no change": kind(
        "no_op",
        any=("// quicker", "/* @n */"),
        cuda=(("float moved = ", "float   moved\n            = "), ("float moved = ", "float mo\\\nved = ")),
        cpu=(("sum += a[", "sum  +=  a["), ("double far = ", "double far =  // far\n                ")),
    ),
    "emptied": kind(
        "placeholder",
        cuda=(
            (RIPPLE.body("ripple"), "{\n}"), (RIPPLE.body("total"), "{ return; }"),
            (RIPPLE.body("total"), "{ (void)sums; }"),
            ("    int x = blockIdx.x * blockDim.x", "    return;\n    int x = blockIdx.x * blockDim.x"),
            ("if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1) {", "if (false) {"),
        ),
        cpu=(
            (ORBIT.body("multiply"), "{ ; }"), (ORBIT.body("pull"), "{ if (sizeof(force)) {} }"),
            ("for (int k = 0; k < n; ++k) {", "while (0) {\n                int k = 0;"),
        ),
    ),
    "narrower": kind(
        "precision",
        cuda=(
            ("double sum = 0.0;\n    for (long long at", "float sum = 0.0f;\n    for (long long at"),
            ("double sum = 0.0;\n    for (int step", "float quick = 0;\n    double sum = 0.0;\n    for (int step"),
            ("double here = level", "real here = level"),
            ("float here = level[y * nx + x];", "__half here = level[y * nx + x];"),
            ("float moved = ", "nv_bfloat16 moved = "),
            ("long long first = (long long)blockIdx.x", "int first = blockIdx.x"),
            ("int x = blockIdx.x", "short x = blockIdx.x"),
            ("sum += here / WIDTH;", "sum += float(here) / WIDTH;"),
        ),
        cpu=(
            ("double sum = 0.0;\n            for", "auto sum = 0.0f;\n            for"),
            ("double dx = ", "coarse dx = "),
            ("double far = ", "float far = "), ("* std::sqrt(far)", "* sqrtf(far)"), ("+ 1.0;", "+ 1.0f;"),
            ("for (std::size_t i = 0", "for (unsigned short i = 0"), ("for (int k = 0", "for (std::uint8_t k = 0"),
        ),
    ),
    "fast and approximate": kind(
        "precision",
        any=("double @n = QUICK(@k.0f);", "double @n = __fdividef(1.0f, @k.0f);", "double @n = rsqrtf(@k);"),
        cuda=("float @n = __expf(@k.0f);", "float @n = __fadd_rz(1.0f, @k.0f);", "float @n = __\\\nsinf(1.0f);",
              "int @n = __mul24(@k, 3);"),
    ),
    "hidden text": kind(
        "hidden_text",
        any=(
            "int @n = @k; // \u202e later \u2066", "int @n\u200b = @k;", "int @n =\u00a0@k;", "int sp\u0430re = @k;",
            "int @n = @k; /* \ufeff */", 'const char* @n = "\u2067a\u2069";', "int @n = @k; // \u00ad\u2060",
            "int \u3164 = @k;",
        ),
    ),
}  # fmt: skip
