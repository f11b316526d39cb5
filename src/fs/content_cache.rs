//! Contents by (tenant, hash): one byte-weighed LRU per process.
