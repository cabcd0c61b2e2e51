"""What the setup, the chat and the server on this computer load; to import it loads it."""

import importlib
import pkgutil

_PACKAGES = """
adapters.local_files adapters.providers.ollama adapters.providers.openai
adapters.providers.transport adapters.providers.wire bootstrap.configuration bootstrap.local
gateways.cli.configuration gateways.cli.connection gateways.cli.conversation gateways.cli.setup
gateways.local gateways.rest.conversation
"""
_MODULES = """
opencrab.bootstrap.consequences opencrab.bootstrap.data_upgrade opencrab.bootstrap.discord.bot
opencrab.bootstrap.discord.channel opencrab.bootstrap.channels.interactions opencrab.bootstrap.jobs
opencrab.bootstrap.llm opencrab.bootstrap.own_providers opencrab.bootstrap.prices
opencrab.bootstrap.rules opencrab.bootstrap.vectors opencrab.bootstrap.websocket
opencrab.bootstrap.world opencrab.gateways.rest.agents.agents opencrab.gateways.rest.app
opencrab.gateways.rest.installation.status cryptography.hazmat.primitives.ciphers.aead
uvicorn.lifespan.off uvicorn.loops.asyncio uvicorn.protocols.http.h11_impl anyio._backends._asyncio
"""

for _name in _PACKAGES.split():
    _package = importlib.import_module(f"opencrab.{_name}")
    for _found in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        importlib.import_module(_found.name)
for _name in _MODULES.split():
    importlib.import_module(_name)
