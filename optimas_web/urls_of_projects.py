"""Addresses below /projects/: those of ``projects``, and the pages that show rows of later rooms too."""

from __future__ import annotations

from django.urls import path

from optimas_web import project_page as page
from optimas_web import project_rules
from projects.urls import urlpatterns as way_in

app_name = "projects"
urlpatterns = [
    *way_in,
    path("samples/", page.sample, name="sample"),
    path("<int:pk>/", page.project, name="project"),
    path("<int:pk>/profiles/", page.profiles, name="profiles"),
    path("<int:pk>/profiles/recent/", page.recent_profiles, name="recent_profiles"),
    path("<int:pk>/profiles/add/", page.add_profile, name="add_profile"),
    path("<int:pk>/profiles/here/", page.profile_here, name="profile_here"),
    path("<int:pk>/profiles/<int:profile>/cancel/", page.cancel_profile, name="cancel_profile"),
    path("<int:pk>/versions/", page.versions, name="versions"),
    path("<int:pk>/rules/", project_rules.rules, name="rules"),
    path("<int:pk>/rules/set/", project_rules.set_rules, name="set_rules"),
    path("<int:pk>/versions/add/", page.add_version, name="add_version"),
]
