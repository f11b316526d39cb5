python3 - <<'PY'
import random
random.seed(7)
print(random.randint(1, 100), random.choice("abc"), random.sample(range(50), 5), round(random.random(), 12), random.uniform(1, 2))
r = random.Random(1); l = list(range(8)); r.shuffle(l); print(l, r.gauss(0, 1))
import uuid, secrets
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), len(secrets.token_hex(8)), uuid.uuid4().version, len({random.SystemRandom().random() for _ in range(5)}))
PY
