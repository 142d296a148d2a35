# The service in a container: pinned packages with hashes, an unprivileged user, nothing to build in what runs.
#   docker build -t pairmark . && docker run -p 8000:8000 -v pairmark:/data pairmark

FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/pairmark
WORKDIR /build
COPY requirements/runtime.txt requirements/runtime.txt
RUN /opt/pairmark/bin/pip install --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY service service
COPY migrations migrations
COPY schemas schemas
COPY manifests manifests
# What builds the wheel, with its hashes, as the lock for development has it.
COPY requirements/dev.txt requirements/dev.txt
RUN awk '/^[^ ]/ { on = /^(build|hatchling|packaging|pathspec|pluggy|pyproject-hooks|tomlkit|trove-classifiers)==/ } on' requirements/dev.txt > requirements/build.txt \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes --only-binary :all: -r requirements/build.txt \
 && /opt/build/bin/python -m build --wheel --no-isolation --outdir /dist . \
 && /opt/pairmark/bin/pip install --no-deps /dist/*.whl

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Pairmark" \
      org.opencontainers.image.description="Certifies utility under attack" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 pairmark \
 && useradd --uid 10001 --gid pairmark --no-create-home --home-dir /data --shell /usr/sbin/nologin pairmark \
 && install -d -o pairmark -g pairmark -m 0750 /data
COPY --from=build /opt/pairmark /opt/pairmark
ENV PATH=/opt/pairmark/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PAIRMARK_HOST=0.0.0.0 \
    PAIRMARK_PORT=8000 \
    PAIRMARK_DATA_DIR=/data \
    PAIRMARK_LOG_FORMAT=json
USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"PAIRMARK_PORT\"]}/healthz', timeout=4)"]
ENTRYPOINT ["pairmark"]
CMD ["serve"]
