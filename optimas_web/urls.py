from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from optimas_web import accounts, sign_in, style, views

urlpatterns = [
    path("", views.home, name="home"),
    path("running/", views.running, name="running"),
    path("healthz", views.healthz, name="healthz"),
    path("sign-in/", sign_in.SignIn.as_view(), name="login"),
    path("sign-out/", auth.LogoutView.as_view(), name="logout"),
    path("password/", auth.PasswordChangeView.as_view(), name="password_change"),
    path("password/done/", auth.PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("password/choose/", accounts.choose_password, name="choose_password"),
    path("first-user/", accounts.first_user, name="first_user"),
    path("theme/", accounts.theme, name="theme"),
    path("settings/", include("optimas_web.urls_of_settings")),
    path("style/", style.style, name="style"),
    path("style/poll/", style.style_poll, name="style_poll"),
    path("attempts/", include("reviews.urls")),
    path("projects/", include("optimas_web.urls_of_projects")),
    path("profiles/", include("analysis.urls")),
    path("", include("evaluation.urls")),
    path("admin/", admin.site.urls),
]
