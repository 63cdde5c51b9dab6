# brokertrial as an image.
#
#   docker build --target base  -t brokertrial .              the bundled broker, and whatever is reached by its address
#   docker build --target kafka -t brokertrial:kafka .        also Java and Apache Kafka, for `kafka:` targets
#   docker run --rm --network host -v "$PWD:/work" brokertrial run --target bootstrap:127.0.0.1:9092
#
# With `--user "$(id -u):$(id -g)"` what it writes is yours.
#
# The package is built first: `python -m build`. BASE is any image with python3 (3.11 or newer) and its module venv.
ARG BASE=python:3.12-slim

FROM ${BASE} AS built
COPY dist/*.whl /tmp/dist/
COPY constraints.txt /tmp/
RUN python3 -m venv /opt/brokertrial \
 && /opt/brokertrial/bin/pip install --no-cache-dir --disable-pip-version-check --constraint /tmp/constraints.txt /tmp/dist/*.whl

FROM ${BASE} AS base
COPY --from=built /opt/brokertrial /opt/brokertrial
# What is fetched or made once is kept where every user may read and write it: `docker run --user` has no home.
ENV PATH=/opt/brokertrial/bin:$PATH XDG_CACHE_HOME=/var/cache/brokertrial
RUN mkdir -p "$XDG_CACHE_HOME" && chmod 1777 "$XDG_CACHE_HOME"
WORKDIR /work
ENTRYPOINT ["brokertrial"]
CMD ["--help"]

FROM base AS kafka
ARG KAFKA=4.4.0
RUN apt-get update && apt-get install -y --no-install-recommends maven && rm -rf /var/lib/apt/lists/* \
 && python3 -P -m brokertrial.suites.targets.apache "$KAFKA" \
 && chmod -R a+rwX "$XDG_CACHE_HOME"
