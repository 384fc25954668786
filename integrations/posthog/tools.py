"""The tools of PostHog, all of which only read."""

from __future__ import annotations

from integrations.posthog.client import PosthogApi
from integrations.posthog.resources.any_endpoint import posthog_get
from integrations.posthog.resources.dashboards import (
    posthog_get_dashboard,
    posthog_list_annotations,
    posthog_list_dashboards,
)
from integrations.posthog.resources.definitions import posthog_list_event_definitions, posthog_list_property_definitions
from integrations.posthog.resources.events import posthog_list_events
from integrations.posthog.resources.experiments import posthog_get_experiment, posthog_list_experiments
from integrations.posthog.resources.feature_flags import posthog_get_feature_flag, posthog_list_feature_flags
from integrations.posthog.resources.hogql_query import posthog_query
from integrations.posthog.resources.insights import posthog_get_insight, posthog_list_insights
from integrations.posthog.resources.persons import (
    posthog_get_cohort,
    posthog_get_person,
    posthog_list_cohorts,
    posthog_list_persons,
)
from integrations.posthog.resources.projects import posthog_get_project, posthog_list_projects
from integrations.posthog.resources.surveys import posthog_get_survey, posthog_list_surveys

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
