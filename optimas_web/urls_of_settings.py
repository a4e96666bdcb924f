"""Addresses below /settings/."""

from __future__ import annotations

from django.urls import path

from optimas_web import accounts, team

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
]
