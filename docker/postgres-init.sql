-- Run once, by the superuser, when the volume is new. The owner makes the tables
-- (`sqlfs migrate`), the app role serves; neither is a superuser or can bypass row-level
-- security, else `serve` refuses to start.
CREATE ROLE sqlfs_owner LOGIN PASSWORD 'sqlfs_owner' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
CREATE ROLE sqlfs_app LOGIN PASSWORD 'sqlfs_app' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
CREATE DATABASE sqlfs OWNER sqlfs_owner;
REVOKE ALL ON DATABASE sqlfs FROM PUBLIC;
GRANT CONNECT ON DATABASE sqlfs TO sqlfs_app;
