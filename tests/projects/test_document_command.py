"""Every command answers in two formats, with three exit codes and without traces."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from optimas_web.errors import UserError
from projects.management.base import DocumentCommand, Reply, printable, program_sources, read_sources


class Asks(DocumentCommand):
    def __init__(self, reply, **more):
        super().__init__(**more)
        self.reply = reply

    def answer(self, **options):
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def said(reply, **options):
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command(Asks(reply), stdout=out, stderr=err, no_color=True, **options)
    except SystemExit as end:
        code = end.code
    return code, out.getvalue(), err.getvalue()


def test_a_table_is_the_default_and_json_is_one_document():
    reply = Reply({"schema": "x/1", "name": "größer"}, "a table")
    assert said(reply) == (0, "a table\n", "")
    code, out, _ = said(reply, format="json")
    assert code == 0
    assert json.loads(out) == {"schema": "x/1", "name": "größer"}


def test_no_is_exit_code_one_and_is_still_printed():
    assert said(Reply({}, "refused", yes=False)) == (1, "refused\n", "")


def test_bad_input_is_one_sentence_on_standard_error_and_exit_code_two():
    assert said(UserError("a.cu is empty.", "Give another.")) == (2, "", "a.cu is empty. Give another.\n")


def test_a_mistake_of_ours_is_not_dressed_up_as_the_users():
    with pytest.raises(ZeroDivisionError):
        said(ZeroDivisionError())


def test_a_name_from_a_file_cannot_steer_the_terminal():
    assert printable("k\x1b[2Jx\n\ty\u202e") == "k\\u001b[2Jx\n\ty\\u202e"


def test_no_document_holds_a_number_that_json_does_not_have():
    with pytest.raises(ValueError, match="not JSON compliant"):
        said(Reply({"x": float("nan")}, ""), format="json")


def test_sources_are_read_by_relative_path_and_links_are_not_followed(tmp_path):
    (tmp_path / "p" / "deep").mkdir(parents=True)
    (tmp_path / "secret.cu").write_text("outside")
    (tmp_path / "p" / "deep" / "k.cu").write_bytes(b"int a; // \xff\r\n")
    (tmp_path / "p" / "notes.txt").write_text("no source")
    (tmp_path / "p" / "link.cu").symlink_to(tmp_path / "secret.cu")
    assert read_sources(tmp_path / "p") == {"deep/k.cu": "int a; // \udcff\r\n"}


def test_sources_that_are_to_be_changed_are_those_of_the_snapshot(tmp_path):
    """What a build leaves, or version control keeps, is no part of the program that is judged."""
    (tmp_path / "CMakeFiles").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("CMakeFiles/CMakeCXXCompilerId.cpp", ".git/stash.c", "k.cu"):
        (tmp_path / name).write_bytes(b"int a; // \xff\r\n")
    assert program_sources(tmp_path) == {"k.cu": "int a; // \udcff\r\n"}
    (tmp_path / "k.cu").rename(tmp_path / "k.txt")
    with pytest.raises(UserError, match="holds no"):
        program_sources(tmp_path)


def test_a_folder_without_sources_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds no"):
        read_sources(tmp_path)
    with pytest.raises(UserError, match="not a folder"):
        read_sources(tmp_path / "missing")
