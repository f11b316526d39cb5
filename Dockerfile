# syntax=docker/dockerfile:1
# The program alone, on an image without a shell; runs as nobody, writes to no disk.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY migrations migrations
COPY assets assets
COPY benches benches
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/target \
    CARGO_TARGET_DIR=/target cargo build --release --locked --bin sqlfs \
    && cp /target/release/sqlfs /sqlfs

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /sqlfs /usr/local/bin/sqlfs
EXPOSE 8080
# The folder for SQLite, when there is no DATABASE_URL: mount a volume there.
ENV SQLFS_DATA_DIR=/data
ENTRYPOINT ["/usr/local/bin/sqlfs"]
