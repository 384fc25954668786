"""The vendors' clients, scripted: they want the weather and a tool that does not exist, and print what came of both."""

OPENAI = """
from types import SimpleNamespace as Namespace

class OpenAI:
    def __init__(self):
        self.chat = self.completions = self

    def create(self, model, messages, tools):
        assert (model, tools[1]["type"]) == ("a-model", "function")
        results = [each["content"] for each in messages if isinstance(each, dict) and each["role"] == "tool"]
        wanted = [(tools[1]["function"]["name"], '{"city": "Oslo"}'), ("mcp_made_up", "")]
        functions = [Namespace(name=name, arguments=args) for name, args in wanted if not results]
        calls = [Namespace(id=function.name, function=function) for function in functions]
        return Namespace(choices=[Namespace(message=Namespace(content=" | ".join(results), tool_calls=calls))])
"""
OPENAI_ONCE = OPENAI.replace(', ("mcp_made_up", "")', "")
ANTHROPIC = """
from types import SimpleNamespace as Namespace

class Anthropic:
    def __init__(self):
        self.messages = self

    def create(self, model, max_tokens, messages, tools):
        assert (model, tools[1].keys()) == ("a-model", {"name", "description", "input_schema"})
        results = messages[-1]["content"] if len(messages) > 1 else []
        assert [each["is_error"] for each in results] in ([], [False, True])
        wanted = [(tools[1]["name"], {"city": "Oslo"}), ("mcp_made_up", {})]
        calls = [Namespace(type="tool_use", id=name, name=name, input=args) for name, args in wanted if not results]
        text = Namespace(type="text", text=" | ".join(each["content"] for each in results))
        return Namespace(content=[*calls, text])
"""
CLIENTS = {"openai": OPENAI, "anthropic": ANTHROPIC}
