python3 - <<'PY'
import asyncio
async def work(n, d):
    await asyncio.sleep(d)
    print("done", n)
    return n * n
async def main():
    print(await asyncio.gather(work(1, 0.03), work(2, 0.01), work(3, 0.02)))
    try:
        await asyncio.wait_for(work(9, 5), 0.01)
    except asyncio.TimeoutError:
        print("timeout")
    q = asyncio.Queue()
    async def producer():
        for i in range(3):
            await q.put(i)
        await q.put(None)
    async def consumer():
        while (x := await q.get()) is not None:
            print("got", x)
    await asyncio.gather(producer(), consumer())
    async with asyncio.TaskGroup() as g:
        t = g.create_task(work(4, 0))
    print(t.result())
    lock = asyncio.Lock()
    async with lock: print(lock.locked())
asyncio.run(main())
PY
