# The ready-made bot: docker build -t minamo .
# Settings come from the environment, or from a file: docker run -v ./minamo.toml:/config/minamo.toml
#   … minamo run --no-browser --log json --config minamo.toml

FROM python:3.13-slim AS build
WORKDIR /build
RUN ["python", "-m", "venv", "/opt/minamo"]
COPY pyproject.toml README.md LICENSE ./
COPY statecharts ./statecharts
COPY src ./src
RUN ["/opt/minamo/bin/pip", "install", "--no-cache-dir", "--disable-pip-version-check", ".[redis]"]

FROM python:3.13-slim
COPY --from=build /opt/minamo /opt/minamo
ENV PATH="/opt/minamo/bin:$PATH" PYTHONUNBUFFERED="1" PYTHONDONTWRITEBYTECODE="1" \
    MINAMO_HEALTH="127.0.0.1:8081"
# Any user will do, as long as it is not root: nothing is written.
USER 10001:10001
WORKDIR /config
# SIGTERM lets replies in progress come to their end.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8081/healthz', timeout=4)"]
ENTRYPOINT ["minamo"]
CMD ["run", "--no-browser", "--log", "json"]
