"""Addresses below /settings/."""

from __future__ import annotations

from django.urls import path

from optimas_web import accounts, team
from optimas_web import team_models as models

app_name = "settings"
urlpatterns = [
    path("", accounts.account, name="account"),
    path("teams/<int:pk>/", team.team, name="team"),
    path("teams/<int:pk>/name/", team.rename, name="rename_team"),
    path("teams/<int:pk>/members/", team.add, name="add_member"),
    path("teams/<int:pk>/accounts/", team.new_account, name="new_account"),
    path("teams/<int:pk>/members/<int:member>/role/", team.role, name="role"),
    path("teams/<int:pk>/members/<int:member>/password/", team.new_password, name="new_password"),
    path("teams/<int:pk>/members/<int:member>/remove/", team.remove, name="remove_member"),
    path("teams/<int:pk>/leave/", team.leave, name="leave_team"),
    path("teams/<int:pk>/models/", models.team_models, name="models"),
    path("teams/<int:pk>/models/budget/", models.budget, name="team_budget"),
    path("teams/<int:pk>/models/of/<str:backend>/", models.save, name="save_vendor"),
    path("teams/<int:pk>/models/of/<str:backend>/test/", models.test, name="test_vendor"),
    path("teams/<int:pk>/models/of/<str:backend>/forget/", models.forget, name="forget_vendor"),
    path("projects/<int:pk>/", models.project, name="project_models"),
]
