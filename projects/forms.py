"""What a person tells of a program: where it comes from, and corrections of what was detected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.core.files.uploadedfile import UploadedFile

from optimas_web.errors import UserError
from projects import manifest
from projects.models import Team
from projects.services import teams_to_edit
from projects.types import Manifest, Tree, WorkloadSpec

NEITHER = "Drop or choose the program's files, or paste a source."
SKELETON = """[build]
command = "make"
binary = "main"

[[workload]]
name = "default"
command = "./main"
"""
CODE = {"class": "code", "spellcheck": "false", "autocapitalize": "off"}


class ManyFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Any number of files; a browser names each without its folder."""

    widget = ManyFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        clean = super().clean
        return [clean(item, initial) for item in data or ()]


class SourcesForm(forms.Form):
    """The files of a program: sent before by script (``upload``), sent now (``file``), or pasted."""

    upload = forms.IntegerField(required=False, widget=forms.HiddenInput)
    file = FilesField(required=False)
    paste_name = forms.CharField(
        required=False, max_length=255, label="File name", initial="main.cu", help_text="Its ending tells the language."
    )
    paste = forms.CharField(
        required=False,
        max_length=2_000_000,
        strip=False,
        label="Source",
        widget=forms.Textarea(attrs={**CODE, "rows": 8}),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and not (data.get("upload") or data.get("file") or data.get("paste", "").strip()):
            self.add_error(None, NEITHER)
        if data.get("paste", "").strip() and not data.get("paste_name"):
            self.add_error("paste_name", "Name the file, for instance main.cu.")
        return data


class NewProjectForm(SourcesForm):
    team = forms.ModelChoiceField(queryset=Team.objects.none(), empty_label=None)
    field_order = ("team",)

    def __init__(self, user: User | AnonymousUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["team"]
        field.queryset = teams_to_edit(user)
        field.initial = field.queryset.first()


class NameForm(forms.Form):
    name = forms.CharField(max_length=100, label="Name of the project", help_text="As your team calls it.")


class ManifestForm(forms.Form):
    """Everything of ``projects.types.Manifest`` but its name and its workloads. Empty means: detect it."""

    toolchain = forms.ChoiceField(choices=[("cuda", "CUDA"), ("cpu", "C or C++ on the processor")])
    build_command = forms.CharField(
        required=False,
        max_length=manifest.MAX_TEXT,
        help_text="{arch} becomes the GPU's architecture (sm_90), {flags} what profilers and sanitizers need.",
        widget=forms.Textarea(attrs={**CODE, "rows": 2}),
    )
    binary = forms.CharField(
        required=False,
        max_length=manifest.MAX_TEXT,
        help_text="The program that the build makes.",
        widget=forms.TextInput(attrs=CODE),
    )
    profile_command = forms.CharField(
        required=False,
        max_length=manifest.MAX_TEXT,
        help_text="A smaller run, for profilers. Empty: the first workload's.",
        widget=forms.TextInput(attrs=CODE),
    )
    include_kernels = forms.CharField(
        required=False, label="Kernels", help_text="Names, one a line. Empty: the hot ones.",
        widget=forms.Textarea(attrs={**CODE, "rows": 2}),
    )  # fmt: skip
    masks = forms.CharField(
        required=False,
        label="Output that may differ",
        help_text="Regular expressions, one a line, such as <code>time: [0-9.]+</code>.",
        widget=forms.Textarea(attrs={**CODE, "rows": 2}),
    )

    @classmethod
    def initial_of(cls, found: Manifest) -> dict[str, Any]:
        return {
            "toolchain": found.toolchain,
            "build_command": found.build_command,
            "binary": found.binary,
            "profile_command": found.profile_command,
            "include_kernels": "\n".join(found.include_kernels),
            "masks": "\n".join(found.masks),
        }

    def wanted(self, found: Manifest, workloads: Sequence[WorkloadSpec]) -> Manifest:
        """``found`` as the person changed it; what was emptied is as it was found."""
        data = self.cleaned_data
        return replace(
            found,
            toolchain=data["toolchain"],
            build_command=data["build_command"] or found.build_command,
            binary=data["binary"] or found.binary,
            workloads=tuple(workloads) or found.workloads,
            profile_command=data["profile_command"] or found.profile_command,
            include_kernels=lines(data["include_kernels"]),
            masks=lines(data["masks"]),
        )


class WorkloadForm(forms.Form):
    name = forms.RegexField(
        r"^\w[\w.-]{0,63}$", error_messages={"invalid": "Use up to 64 letters, digits, '_', '-' and '.'."}
    )
    command = forms.CharField(max_length=manifest.MAX_TEXT, widget=forms.TextInput(attrs=CODE))
    outputs = forms.CharField(
        required=False,
        label="Output files",
        help_text="Patterns, one a line, such as <code>out/*.bin</code>. What is printed is always compared.",
        widget=forms.Textarea(attrs={**CODE, "rows": 1}),
    )
    timeout_s = forms.FloatField(
        label="Time limit in seconds", min_value=manifest.TIMEOUT_S[0], max_value=manifest.TIMEOUT_S[1], initial=60
    )
    bytes = forms.IntegerField(
        required=False, min_value=1, max_value=manifest.MAX_COUNT, label="Least DRAM traffic in bytes",
        help_text="Of the whole run; for the physics check.",
    )  # fmt: skip
    flops = forms.IntegerField(
        required=False, min_value=1, max_value=manifest.MAX_COUNT, label="Floating-point operations",
        help_text="Of the whole run.",
    )  # fmt: skip

    @classmethod
    def initial_of(cls, spec: WorkloadSpec) -> dict[str, Any]:
        return {
            "name": spec.name,
            "command": spec.command,
            "outputs": "\n".join(spec.outputs),
            "timeout_s": f"{spec.timeout_s:g}",
            "bytes": spec.bytes,
            "flops": spec.flops,
        }

    def spec(self) -> WorkloadSpec:
        data = self.cleaned_data
        return WorkloadSpec(
            data["name"],
            data["command"],
            lines(data["outputs"]),
            data["timeout_s"],
            bytes=data["bytes"],
            flops=data["flops"],
        )


class WorkloadFormSet(forms.BaseFormSet):
    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields["DELETE"].label = "Remove this workload"

    def specs(self) -> tuple[WorkloadSpec, ...]:
        kept = (form for form in self.forms if form.has_changed() or form.initial)
        return tuple(form.spec() for form in kept if form not in self.deleted_forms)


Workloads = forms.formset_factory(
    WorkloadForm,
    WorkloadFormSet,
    extra=1,
    can_delete=True,
    max_num=manifest.MAX_WORKLOADS,
    validate_max=True,
)


class TomlForm(forms.Form):
    """optimas.toml as text, for files in which nothing can be detected before it is mended."""

    toml = forms.CharField(
        label=manifest.FILE, strip=False, required=False, widget=forms.Textarea(attrs={**CODE, "rows": 16})
    )


class Review:
    """What was found in a program's files, as forms to correct it; as text where nothing could be found.

    ``found`` or ``problem`` is None. ``declared`` is the optimas.toml to keep, once ``is_valid`` was true; empty when
    the files need none besides their own.
    """

    def __init__(self, tree: Tree, data: Any = None) -> None:
        self.tree = tree
        self.found: Manifest | None = None
        self.problem: UserError | None = None
        self.declared = ""
        try:
            self.found = manifest.load(tree.files)
        except UserError as error:
            self.problem = error
        self._make_forms(data)

    def _make_forms(self, data: Any) -> None:
        if self.found is None:
            text = self.tree.files.get(manifest.FILE, SKELETON.encode()).decode(errors="replace")
            self.toml = TomlForm(data, initial={"toml": text})
            return
        self.fields = ManifestForm(data, initial=ManifestForm.initial_of(self.found))
        for name in self.found.detected:
            if name in self.fields.fields:
                self.fields.fields[name].note = "detected"  # type: ignore[attr-defined]  # parts/field.html shows it
        rows = [WorkloadForm.initial_of(spec) for spec in self.found.workloads]
        self.workloads: Any = Workloads(data, initial=rows, prefix="workload")

    def is_valid(self) -> bool:
        """Whether the forms are filled in well, and the files can be understood with what they say."""
        forms_are_good = (
            self.toml.is_valid() if self.found is None else self.fields.is_valid() & self.workloads.is_valid()
        )
        return forms_are_good and self._holds()

    def _holds(self) -> bool:
        text = self._text()
        try:
            manifest.load({**self.tree.files, manifest.FILE: text.encode()} if text else self.tree.files)
        except UserError as error:
            self.problem = error
            return False
        self.declared = text
        return True

    def _text(self) -> str:
        if self.found is None:
            return str(self.toml.cleaned_data["toml"]).replace("\r\n", "\n")
        wanted = self.fields.wanted(self.found, self.workloads.specs())
        return "" if wanted == self.found else manifest.corrected(self.found, wanted)


def lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in re.split(r"[\r\n]+", text) if line.strip())
