"""Corpora: documents that an agent's manifest names, read in the background and cut into chunks."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Now
from pgvector.django import HalfVectorField

from registry.models.agents import Revision
from registry.routing.vectors import DIMENSIONS


class Corpus(models.Model):
    """One entry of a manifest's `corpora`, and how far its reading is.

    Only its `reader` writes what it holds. One that is read anew is a row of its own, which `replaces` the row that
    serves meanwhile and takes its place when it is ready.
    """

    class Kind(models.TextChoices):
        URLS = "urls", "web pages"
        FUNC = "func", "a corpus Func of the agent"

    class Status(models.TextChoices):
        PENDING = "pending", "waits to be read"
        INDEXING = "indexing", "is being read"
        READY = "ready"
        FAILED = "failed"

    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="corpora")
    position = models.PositiveSmallIntegerField(help_text="In the manifest, from 0.")
    kind = models.CharField(max_length=4, choices=Kind)
    urls = models.JSONField(default=list, blank=True)
    exclude_patterns = models.JSONField(default=list, blank=True)
    func = models.CharField(max_length=100, blank=True, default="")
    auth_token_func = models.CharField(max_length=100, blank=True, default="")
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    embedder = models.CharField(max_length=200, blank=True, default="", help_text="Of its chunks' vectors.")
    documents_done = models.PositiveIntegerField(default=0)
    documents_failed = models.PositiveIntegerField(default=0)
    vector_count = models.PositiveIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True, default="", help_text="Why it failed, or where it stopped short.")
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
    created = models.DateTimeField(db_default=Now(), editable=False)
    modified = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "corpora"
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "position"], condition=Q(replaces=None), name="one_corpus_a_position"
            )
        ]

    def __str__(self) -> str:
        return f"corpus {self.position} of revision {self.revision_id}"


class CorpusDocument(models.Model):
    """One page or document of a corpus, read or not."""

    class Status(models.TextChoices):
        DONE = "done"
        FAILED = "failed"
        SKIPPED = "skipped"

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="documents")
    source = models.CharField(max_length=2000, help_text="Its URL, or what the corpus Func calls it.")
    title = models.CharField(max_length=300, blank=True, default="")
    content_type = models.CharField(max_length=100, blank=True, default="")
    size = models.PositiveBigIntegerField(default=0)
    status = models.CharField(max_length=7, choices=Status)
    error = models.TextField(blank=True, default="")
    fetched = models.DateTimeField(db_default=Now())

    class Meta:
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

    def __str__(self) -> str:
        return self.text[:80]
