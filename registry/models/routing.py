"""What the Router decides by: sample queries with their vectors, and rules of keywords."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5, Now
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField, HnswIndex

from registry.models.agents import Agent, Revision
from registry.routing.vectors import DIMENSIONS

KEYWORD_MAX = 100


class SampleQuery(models.Model):
    """Something an agent can be asked, as a text and as a vector.

    `embedding` is of the embedder `SampleIndex.serving`. While the site moves to another one, `next_embedding` is
    filled beside it, so that the old one serves until all is there.
    """

    class Source(models.TextChoices):
        FEW_SHOT = "few_shot", _("the Q: line of a few-shot")
        MANIFEST = "manifest", _("a sample query of the manifest")
        GIVEN = "given", _("given at registration")
        NAME = "name", _("the agent's name")
        CORRECTION = "correction", _("somebody asked this agent instead of another")

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="sample_queries", verbose_name=_("agent"))
    revision = models.ForeignKey(
        Revision,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("revision"),
        help_text=_("Null for corrections."),
    )
    source = models.CharField(_("source"), max_length=10, choices=Source)
    text = models.TextField(_("text"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("user"),
        help_text=_("Whom a correction routes; null: everyone."),
    )
    embedding = HalfVectorField(dimensions=DIMENSIONS)
    next_embedding = HalfVectorField(dimensions=DIMENSIONS, null=True, blank=True)
    clash = models.ForeignKey(
        Agent,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("clash"),
        help_text=_("Another owner's agent that says it answers the same."),
    )
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("sample query"), _("sample queries")
        constraints = [
            models.UniqueConstraint(F("agent"), F("user"), MD5("text"), name="one_sample_a_text", nulls_distinct=False),
            models.CheckConstraint(
                condition=Q(user=None) | Q(source="correction"), name="only_corrections_are_of_a_user"
            ),
        ]
        indexes = [
            HnswIndex(
                name="nearest_samples",
                fields=["embedding"],
                m=16,
                ef_construction=64,
                opclasses=["halfvec_cosine_ops"],
            ),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class AgentIndex(models.Model):
    """How far the sample queries of an agent's current revision are embedded."""

    agent = models.OneToOneField(
        Agent, on_delete=models.CASCADE, primary_key=True, related_name="index", verbose_name=_("agent")
    )
    revision = models.ForeignKey(
        Revision,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("revision"),
        help_text=_("Whose samples are in the index."),
    )
    digest = models.BinaryField(default=b"", help_text="SHA-256 of the texts in the index.")
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("total"), default=0)
    error = models.TextField(_("error"), blank=True, default="")
    modified = models.DateTimeField(_("modified"), auto_now=True)

    class Meta:
        verbose_name, verbose_name_plural = _("agent index"), _("agent indexes")

    def __str__(self) -> str:
        return _("%(done)s of %(total)s") % {"done": self.done, "total": self.total}


class SampleIndex(models.Model):
    """The one row (id 1) that says which embedder the vectors are of."""

    id = models.PositiveSmallIntegerField("ID", primary_key=True, default=1)
    serving = models.CharField(_("serving"), max_length=200, help_text=_("The embedder of `SampleQuery.embedding`."))
    building = models.CharField(
        _("building"),
        max_length=200,
        blank=True,
        default="",
        help_text=_("The embedder of `next_embedding`, while the site moves to it."),
    )
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("total"), default=0)
    error = models.TextField(_("error"), blank=True, default="")
    modified = models.DateTimeField(_("modified"), auto_now=True)

    class Meta:
        verbose_name, verbose_name_plural = _("sample index"), _("sample indexes")
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_sample_index")]

    def __str__(self) -> str:
        return self.serving


class RoutingRule(models.Model):
    """Sends queries to agents by keywords, ahead of all similarity; the highest priority wins.

    A rule matches where the task type is the same and it has no keywords, or one of them is in the query, inside of
    a word, too, and whatever the case (the routing rules of the seed `stdio-json-rpc-agents`).
    """

    task_type = models.CharField(
        _("task type"),
        max_length=100,
        blank=True,
        default="",
        help_text=_("Empty: queries that people type, and any without a type."),
    )
    keywords = ArrayField(
        models.CharField(max_length=KEYWORD_MAX), verbose_name=_("keywords"), default=list, blank=True
    )
    agents = models.ManyToManyField(Agent, through="RoutingPreference", related_name="+")
    priority = models.IntegerField(_("priority"), default=0)
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name, verbose_name_plural = _("routing rule"), _("routing rules")
        ordering = ["-priority", "pk"]

    def __str__(self) -> str:
        return f"{self.task_type or 'any query'}: {', '.join(self.keywords) or 'always'}"


class RoutingPreference(models.Model):
    """An agent that a rule prefers; the first one that works is asked."""

    rule = models.ForeignKey(RoutingRule, on_delete=models.CASCADE, related_name="preferences")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+", verbose_name=_("agent"))
    position = models.PositiveSmallIntegerField(_("position"), default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("preference"), _("preferences")
        ordering = ["position", "pk"]
        constraints = [models.UniqueConstraint(fields=["rule", "agent"], name="one_preference_an_agent")]

    def __str__(self) -> str:
        return f"{self.position}"
