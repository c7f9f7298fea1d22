"""Corpora: documents that an agent's manifest names, read in the background and cut into chunks."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Now
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from registry.models.agents import Revision
from registry.routing.vectors import DIMENSIONS


class Corpus(models.Model):
    """One entry of a manifest's `corpora`, and how far its reading is.

    Only its `reader` writes what it holds. One that is read anew is a row of its own, which `replaces` the row that
    serves meanwhile and takes its place when it is ready.
    """

    class Kind(models.TextChoices):
        URLS = "urls", _("web pages")
        FUNC = "func", _("a corpus Func of the agent")

    class Status(models.TextChoices):
        PENDING = "pending", _("waits to be read")
        INDEXING = "indexing", _("is being read")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="corpora", verbose_name=_("revision"))
    position = models.PositiveSmallIntegerField(_("position"), help_text=_("In the manifest, from 0."))
    kind = models.CharField(_("kind"), max_length=4, choices=Kind)
    urls = models.JSONField(_("URLs"), default=list, blank=True)
    exclude_patterns = models.JSONField(_("exclude patterns"), default=list, blank=True)
    func = models.CharField(_("Func"), max_length=100, blank=True, default="")
    auth_token_func = models.CharField(_("auth token Func"), max_length=100, blank=True, default="")
    status = models.CharField(_("status"), max_length=8, choices=Status, default=Status.PENDING)
    embedder = models.CharField(
        _("embedder"), max_length=200, blank=True, default="", help_text=_("Of its chunks' vectors.")
    )
    documents_done = models.PositiveIntegerField(_("documents done"), default=0)
    documents_failed = models.PositiveIntegerField(_("documents failed"), default=0)
    vector_count = models.PositiveIntegerField(_("vector count"), default=0)
    bytes_read = models.PositiveBigIntegerField(_("bytes read"), default=0)
    error = models.TextField(
        _("error"), blank=True, default="", help_text=_("Why it failed, or where it stopped short.")
    )
    replaces = models.OneToOneField(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="replacement", editable=False
    )
    reader = models.UUIDField(null=True, blank=True, editable=False, help_text="The reading that may write.")
    lease = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When somebody else may go on with the reading."
    )
    tries = models.PositiveSmallIntegerField(
        default=0, editable=False, help_text="How many readings in a row have died without a new document."
    )
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    modified = models.DateTimeField(_("modified"), auto_now=True)

    class Meta:
        verbose_name, verbose_name_plural = _("corpus"), _("corpora")
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "position"], condition=Q(replaces=None), name="one_corpus_a_position"
            )
        ]

    def __str__(self) -> str:
        numbers = {"position": self.position, "revision": self.revision_id}
        return _("corpus %(position)s of revision %(revision)s") % numbers


class CorpusDocument(models.Model):
    """One page or document of a corpus, read or not."""

    class Status(models.TextChoices):
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        SKIPPED = "skipped", _("Skipped")

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="documents")
    source = models.CharField(_("source"), max_length=2000, help_text=_("Its URL, or what the corpus Func calls it."))
    title = models.CharField(_("title"), max_length=300, blank=True, default="")
    content_type = models.CharField(_("content type"), max_length=100, blank=True, default="")
    size = models.PositiveBigIntegerField(_("size"), default=0)
    status = models.CharField(_("status"), max_length=7, choices=Status)
    error = models.TextField(_("error"), blank=True, default="")
    fetched = models.DateTimeField(_("fetched"), db_default=Now())

    class Meta:
        verbose_name, verbose_name_plural = _("document"), _("documents")
        # By its hash: an index holds 2704 bytes, and 2000 characters may have three times as many.
        constraints = [models.UniqueConstraint("corpus", MD5("source"), name="one_document_a_source")]

    def __str__(self) -> str:
        return self.source


class Chunk(models.Model):
    """A passage of a document, with its vector by the corpus's embedder.

    Without an index of its own: a corpus has a few thousand, which are compared one by one.
    """

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="chunks")
    document = models.ForeignKey(CorpusDocument, on_delete=models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField(help_text="In its document, from 0.")
    text = models.TextField()
    embedding = HalfVectorField(dimensions=DIMENSIONS)

    class Meta:
        verbose_name, verbose_name_plural = _("passage"), _("passages")

    def __str__(self) -> str:
        return self.text[:80]
