"""What people fill in to start a run and to bring an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict

from analysis.models import Kernel, Profile
from analysis.types import SOURCE_KINDS
from projects.models import Project, Snapshot

MOST_REPAIRS = 10
ANSWER_CHARACTERS = 1_000_000
KIND_WORDS = {
    "roofline": "Roofline: how near to what memory and arithmetic can give",
    "stalls": "Stalls: which source lines wait, and for what",
    "counters": "Counters: cache misses, instructions and the like",
    "findings": "Findings: the profiler's own rules",
}


class NewRunForm(forms.Form):
    """``shown`` is the profile whose kernels the form offered: after a change of the profile they are chosen anew."""

    snapshot = forms.ModelChoiceField(Snapshot.objects.none(), label="Source version", empty_label=None)
    profile = forms.ModelChoiceField(
        Profile.objects.none(), required=False, empty_label="None yet: a host takes one first"
    )
    kernels = forms.ModelMultipleChoiceField(Kernel.objects.none(), required=False)
    sources = forms.MultipleChoiceField(
        choices=[(kind, KIND_WORDS[kind]) for kind in SOURCE_KINDS], required=False, label="Evidence"
    )
    backend = forms.ChoiceField(label="Who answers")
    repairs = forms.IntegerField(
        min_value=0,
        max_value=MOST_REPAIRS,
        help_text="How often an answer that fails a gate goes back with the reason.",
    )
    budget_usd = forms.DecimalField(
        required=False,
        min_value=Decimal("0.01"),
        max_digits=10,
        decimal_places=2,
        label="Spend at most, in USD",
        help_text="For all answers of this run together. Empty: only the limits of project and team hold.",
    )
    guidance = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="A wish in words; it stands in the prompt.",
    )
    send_anyway = forms.CharField(required=False, max_length=64, help_text="the hash of the prompt that may be sent")
    shown = forms.CharField(required=False, widget=forms.HiddenInput)
    key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(
        self,
        project: Project,
        snapshot: Snapshot,
        profile: Profile | None,
        kernels: Iterable[Kernel],
        backends: Mapping[str, str],
        data: QueryDict,
    ) -> None:
        super().__init__(data)
        self.sent = data
        self.project, self.chosen_profile, self.offered = project, profile, list(kernels)
        self.fields["snapshot"].queryset = project.snapshots.all()  # type: ignore[attr-defined]
        self.fields["snapshot"].label_from_instance = snapshot_label  # type: ignore[attr-defined]
        self.fields["profile"].queryset = usable_profiles(snapshot)  # type: ignore[attr-defined]
        self.fields["profile"].label_from_instance = profile_label  # type: ignore[attr-defined]
        ids = [kernel.pk for kernel in self.offered]
        self.fields["kernels"].queryset = Kernel.objects.filter(pk__in=ids)  # type: ignore[attr-defined]
        self.fields["backend"].choices = list(backends.items())  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if self.offered and not values.get("kernels"):
            self.add_error("kernels", "Choose at least one kernel.")
        return values

    def idempotency_key(self, user_id: int) -> str:
        """The same for the same choices in the same form, so that two clicks start one run and a change another."""
        plain = ("snapshot", "profile", "backend", "repairs", "guidance", "budget_usd")
        values: dict[str, Any] = {name: str(self.cleaned_data[name]) for name in plain}
        values["sources"] = sorted(self.cleaned_data["sources"])
        values["kernels"] = sorted(kernel.pk for kernel in self.cleaned_data["kernels"])
        digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
        return f"{user_id}:{self.cleaned_data['key'].hex}:{digest[:24]}"


def usable_profiles(snapshot: Snapshot) -> Any:
    """What a run can start from: read, or about to be."""
    return snapshot.profiles.exclude(state="failed").exclude(origin="re_profile")


def snapshot_label(snapshot: Snapshot) -> str:
    return f"{snapshot.sha256[:12]}, {snapshot.created:%Y-%m-%d %H:%M}"


def profile_label(profile: Profile) -> str:
    about = [profile.get_origin_display(), profile.tool, profile.device_name, f"{profile.created:%Y-%m-%d %H:%M}"]
    if profile.state == "pending":
        about.append("not read yet")
    return ", ".join(word for word in about if word)


class AnswerForm(forms.Form):
    answer = forms.CharField(
        max_length=ANSWER_CHARACTERS,
        strip=False,
        widget=forms.Textarea(attrs={"class": "code", "rows": 14, "spellcheck": "false", "autocomplete": "off"}),
        label="The answer, whole",
        help_text="As it came: JSON, a fenced block, a patch, or whole files. What surrounds it is ignored.",
    )

    def clean_answer(self) -> str:
        """Browsers send CR LF for every line end of a text area."""
        text: str = self.cleaned_data["answer"]
        return text.replace("\r\n", "\n")
