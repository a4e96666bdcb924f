from __future__ import annotations

from django.urls import path

from evaluation.views import hosts, new_run, paste, run

app_name = "evaluation"
urlpatterns = [
    path("projects/<int:project_id>/runs/new/", new_run.new_run, name="new_run"),
    path("projects/<int:project_id>/runs/new/preview/", new_run.preview, name="new_run_preview"),
    path("runs/<int:pk>/", run.run, name="run"),
    path("runs/<int:pk>/live/", run.live, name="live"),
    path("runs/<int:pk>/cancel/", run.cancel, name="cancel"),
    path("runs/<int:pk>/logs/<int:job>/", run.log, name="log"),
    path("runs/<int:pk>/paste/", paste.paste, name="paste"),
    path("runs/<int:pk>/paste/preview/", paste.preview, name="paste_preview"),
    path("hosts/", hosts.hosts, name="hosts"),
]
