"""Which tools does PostHog have? All of them read."""

from __future__ import annotations

from integrations.posthog.anything import posthog_get
from integrations.posthog.api import PosthogApi
from integrations.posthog.dashboards import posthog_get_dashboard, posthog_list_annotations, posthog_list_dashboards
from integrations.posthog.definitions import posthog_list_event_definitions, posthog_list_property_definitions
from integrations.posthog.events import posthog_list_events
from integrations.posthog.experiments import posthog_get_experiment, posthog_list_experiments
from integrations.posthog.flags import posthog_get_feature_flag, posthog_list_feature_flags
from integrations.posthog.insights import posthog_get_insight, posthog_list_insights
from integrations.posthog.people import (
    posthog_get_cohort,
    posthog_get_person,
    posthog_list_cohorts,
    posthog_list_persons,
)
from integrations.posthog.projects import posthog_get_project, posthog_list_projects
from integrations.posthog.querying import posthog_query
from integrations.posthog.surveys import posthog_get_survey, posthog_list_surveys

API = PosthogApi
TOOLS = [
    posthog_list_projects,
    posthog_get_project,
    posthog_query,
    posthog_list_events,
    posthog_list_event_definitions,
    posthog_list_property_definitions,
    posthog_list_insights,
    posthog_get_insight,
    posthog_list_dashboards,
    posthog_get_dashboard,
    posthog_list_annotations,
    posthog_list_feature_flags,
    posthog_get_feature_flag,
    posthog_list_experiments,
    posthog_get_experiment,
    posthog_list_persons,
    posthog_get_person,
    posthog_list_cohorts,
    posthog_get_cohort,
    posthog_list_surveys,
    posthog_get_survey,
    posthog_get,
]
