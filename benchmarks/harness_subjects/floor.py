"""The least that a Python client can take: requests written out beforehand, aiohttp or httpx alone, nothing stored."""

import asyncio
import json
from importlib import import_module

from common import Job, Stopwatch, openai_messages, read_job

HEADERS = {"content-type": "application/json"}


async def by_aiohttp(job: Job, bodies: list[bytes]) -> int:
    """Send all bodies; gives how many were answered."""
    import aiohttp

    waiting, answers = iter(bodies), 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def work() -> None:
            nonlocal answers
            for body in waiting:
                async with client.post(f"{job.base_url}/chat/completions", data=body, headers=HEADERS) as reply:
                    answers += "content" in json.loads(await reply.read())["choices"][0]["message"]

        await asyncio.gather(*(work() for _ in range(job.concurrency)))
    return answers


async def by_httpx(job: Job, bodies: list[bytes]) -> int:
    """Send all bodies; gives how many were answered."""
    import httpx

    waiting, answers = iter(bodies), 0
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, verify=False, trust_env=False) as client:  # noqa: S501 - plain HTTP

        async def work() -> None:
            nonlocal answers
            for body in waiting:
                reply = await client.post(f"{job.base_url}/chat/completions", content=body, headers=HEADERS)
                answers += "content" in reply.json()["choices"][0]["message"]

        await asyncio.gather(*(work() for _ in range(job.concurrency)))
    return answers


def main() -> None:
    """Run the client that the job names."""
    job = read_job()
    bodies = [json.dumps({"model": "instant", "messages": openai_messages(one)}).encode() for one in job.samples]
    send = {"aiohttp": by_aiohttp, "httpx": by_httpx}[job.options["client"]]
    import_module(job.options["client"])  # which counts as start-up
    watch = Stopwatch()
    watch.begin()
    answers = asyncio.run(send(job, bodies))
    watch.end()
    watch.report(job, answers)


if __name__ == "__main__":
    main()
