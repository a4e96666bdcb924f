from __future__ import annotations

from django.urls import path

from projects import views

urlpatterns = [
    path("new/", views.new, name="new"),
    path("new/<int:pk>/", views.review, name="review"),
    path("<int:pk>/setup/", views.setup, name="setup"),
    path("uploads/", views.upload_begin, name="upload_begin"),
    path("uploads/<int:pk>/", views.upload, name="upload"),
    path("uploads/<int:pk>/finish/", views.upload_finish, name="upload_finish"),
]
