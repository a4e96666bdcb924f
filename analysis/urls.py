from __future__ import annotations

from django.urls import path

from analysis import views

app_name = "analysis"
urlpatterns = [
    path("<int:pk>/", views.profile, name="profile"),
    path("<int:pk>/state/", views.state, name="state"),
    path("<int:pk>/source/", views.source, name="source"),
    path("<int:pk>/evidence/<str:label>/", views.evidence, name="evidence"),
]
