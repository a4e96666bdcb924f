"""Who may be asked for an answer: backends and models, those that cannot be chosen with the reason, and the cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from optimas_web.errors import UserError
from optimizer.backends import BACKENDS, address, backend, vendor
from optimizer.budget import most_usd, refuse_over
from optimizer.models import VendorAccess
from optimizer.presets import listed, preset, prices_of
from optimizer.services import caps, opened, refuse_forbidden
from optimizer.types import BackendOptions, Prompt
from projects.models import Project

MOST_OF_A_SERVER = 20


@dataclass(frozen=True, slots=True)
class Recipient:
    """One choice. ``closed``: why nobody can take it now. ``problem``: why it could not answer this prompt."""

    name: str
    backend: str
    model: str
    title: str
    leaves: str
    asks_a_vendor: bool
    cost: str = "None: no vendor is asked."
    outlook: str = ""
    closed: UserError | None = None
    problem: UserError | None = None

    @property
    def hindrance(self) -> UserError | None:
        return self.closed or self.problem


def recipients(project: Project) -> tuple[Recipient, ...]:
    rows = {row.backend: row for row in VendorAccess.objects.filter(team=project.team_id)}
    found = [each for name in BACKENDS for each in _of_backend(project, name, rows.get(name))]
    return tuple(found)


def _of_backend(project: Project, name: str, row: VendorAccess | None) -> Iterator[Recipient]:
    found = backend(name)
    if found.ORIGIN != "model":
        if not project.vendors_allowed or name in project.vendors_allowed:
            yield Recipient(name, name, "", found.TITLE, found.LEAVES, asks_a_vendor=False)
        return
    closed = _closed(project, name, row)
    models = _models(name, row)
    for model in models or [""]:
        title = f"{found.TITLE}: {model}" if model else found.TITLE
        missing = row is not None and row.tested and model not in row.listed
        why = closed or (UserError(f"It does not offer {model} with this key.") if missing else None)
        value = f"{name}:{model}"
        yield Recipient(value, name, model, title, found.LEAVES, asks_a_vendor=True, cost="", closed=why)


def _models(name: str, row: VendorAccess | None) -> list[str]:
    """The presets; of a server of one's own everything that it has, as far as a page can show it."""
    known = [each.name for each in listed() if each.backend == name]
    own = row.listed[:MOST_OF_A_SERVER] if row and name in ("ollama", "openai_compatible") else []
    return list(dict.fromkeys([*known, *own]))


def _closed(project: Project, name: str, row: VendorAccess | None) -> UserError | None:
    """Not allowed, no key, or not reached when it was tested last."""
    try:
        refuse_forbidden(project, name, row)
        opened(name, row)
    except UserError as error:
        return error
    if row is None or row.tested is None:
        return UserError("Nobody has tested it yet.", "A lead can: Settings, team, models.")
    return UserError(f"Its last test failed. {row.problem}") if row.problem else None


def foreseen(
    choice: Recipient, project: Project, prompt: Prompt, options: BackendOptions, budget_usd: Decimal | None
) -> Recipient:
    """The choice with what to expect of this prompt: outlook, cost, and whether the caps allow it."""
    found = backend(choice.backend)
    try:
        if not choice.asks_a_vendor:
            return replace(choice, outlook=found.outlook(prompt, options))
        row = VendorAccess.objects.filter(team=project.team_id, backend=choice.backend).first()
        asked = replace(options, model=choice.model, access=opened(choice.backend, row))
        most = most_usd(preset(choice.backend, choice.model), prompt.tokens_estimated)
        local = address.is_local(asked.access.base_url or vendor(choice.backend).ADDRESS)
        told = replace(choice, outlook=found.outlook(prompt, asked), cost=_cost(most, local))
        if most is not None or not local:
            refuse_over_all(project, most, choice.model, budget_usd)
        return told
    except UserError as error:
        return replace(choice, problem=error)


def refuse_over_all(project: Project, most: Decimal | None, model: str, budget_usd: Decimal | None) -> None:
    """Raises UserError when the first request could go over what is left; later ones are looked at in their turn."""
    run = replace(caps(project.team)[0], whose="run", limit_usd=budget_usd, spent_usd=Decimal(0))
    refuse_over([run, *caps(project.team, project)], most, model)


def _cost(most: Decimal | None, local: bool) -> str:
    if most is not None:
        return f"At most {most:.2f} USD an answer, and again for each repair (list prices of {prices_of()})."
    if local:
        return "No bill: it runs on an address of yours."
    return "Not known: there is no price for this model."
