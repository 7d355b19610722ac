# An image that runs the scenario of the README: docs/guide/install.md. Both stages have Debian's Python, whose paths the environment contains.
FROM rust:1.88-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev python3-venv
WORKDIR /source
COPY . .
RUN mkdir --parents python/anabranch/bundle && cp --recursive --parents scenarios sweeps docs/guide/*.ipynb python/anabranch/bundle
RUN python3 -m venv /opt/anabranch && /opt/anabranch/bin/pip install --no-cache-dir '.[figures,te,topologies]'

FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends python3 && rm --recursive --force /var/lib/apt/lists/*
COPY --from=build /opt/anabranch /opt/anabranch
ENV PATH=/opt/anabranch/bin:$PATH
WORKDIR /data
ENTRYPOINT ["anabranch"]
CMD ["run", "example:abilene", "--out", "runs/abilene"]
