from __future__ import annotations

from django.urls import path

from reviews import views

app_name = "reviews"
urlpatterns = [
    path("<int:pk>/", views.attempt, name="attempt"),
    path("<int:pk>/progress/", views.progress, name="progress"),
    path("<int:pk>/patch/", views.patch, name="patch"),
    path("<int:pk>/receipt/", views.receipt, name="receipt"),
]
