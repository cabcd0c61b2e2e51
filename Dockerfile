# OpenCrab for a computer or a server: `docker compose up`, or docs/how-to/install.md.
# The tag names Python and Debian; building again takes their security fixes.
FROM python:3.13-slim-bookworm AS build

WORKDIR /src
RUN python -m venv /opt/opencrab
COPY requirements/runtime.txt requirements/runtime.txt
RUN /opt/opencrab/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY config config
COPY skills skills
COPY layers/opencrab/python layers/opencrab/python
RUN /opt/opencrab/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim-bookworm

# A number, so that an orchestrator can see that it is not root.
RUN useradd --uid 10001 --no-create-home --home-dir /tmp opencrab \
    && install --directory --owner opencrab --group opencrab --mode 700 /data /keys
COPY --from=build /opt/opencrab /opt/opencrab
ENV PATH=/opt/opencrab/bin:$PATH \
    HOME=/tmp \
    LANG=C.UTF-8 \
    OPENCRAB_DATA=/data \
    OPENCRAB_SECRETS_KEY_FILE=/keys/secrets.key \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
# Stored keys of providers are in /data, and the key that decrypts them is not.
VOLUME /keys
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/api/health', timeout=4)"]
ENTRYPOINT ["opencrab"]
CMD ["up", "--host", "0.0.0.0", "--port", "8080", "--data", "/data"]
