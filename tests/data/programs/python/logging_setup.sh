python3 - <<'PY' 2>&1
import logging, logging.handlers, io
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("app")
log.debug("hidden"); log.info("shown %d", 5); log.warning("careful")
h = logging.FileHandler("app.log"); h.setFormatter(logging.Formatter("[%(levelname).1s] %(message)s")); log.addHandler(h)
try: 1 / 0
except ZeroDivisionError: log.error("oops")
logging.shutdown()
PY
cat app.log
