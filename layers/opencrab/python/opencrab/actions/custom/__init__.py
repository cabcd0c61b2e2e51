"""Actions that others write, outside of this package: what their modules import from here.

Here are the decorator, what a call is told, and how a call is bounded. Which modules are loaded,
and from where, is decided in `bootstrap`; the actions of this package are in the other folders.
"""

from opencrab.actions.custom.call import ActionFailed, CallContext, OutcomeUnknown
from opencrab.actions.custom.declaration import CustomAction, action

__all__ = ["ActionFailed", "CallContext", "CustomAction", "OutcomeUnknown", "action"]
