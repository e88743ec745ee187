// The client programs that are tried against a server, with their versions and, for coding tools, how each is connected.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Of npm. They are installed into a folder of their own, never with the dependencies of the package. */
export const libraryVersions = {
  openai: '7.55.0',
  '@anthropic-ai/sdk': '1.9.0',
  ai: '7.0.170',
  '@ai-sdk/openai': '4.0.115',
  '@ai-sdk/anthropic': '4.0.102',
  '@ai-sdk/openai-compatible': '3.0.90',
  '@langchain/core': '1.2.13',
  '@langchain/openai': '1.6.0',
  '@langchain/anthropic': '1.5.11',
  '@openai/agents': '0.20.0',
  llamaindex: '0.12.1',
  '@llamaindex/workflow': '1.1.25',
  '@llamaindex/openai': '0.4.23',
  '@llamaindex/anthropic': '0.3.27',
  '@mastra/core': '1.71.0',
  zod: '4.6.7',
};

export const toolVersions = {
  '@anthropic-ai/claude-code': '2.1.326',
  '@openai/codex': '0.169.0',
  'opencode-ai': '1.18.33',
  '@mariozechner/pi-coding-agent': '0.73.1',
  '@qwen-code/qwen-code': '0.24.4',
  '@continuedev/cli': '1.5.47',
};

/** The clients of `libraries.mjs`, and the package whose version is shown. */
export const libraries: Readonly<Record<string, keyof typeof libraryVersions>> = {
  'openai chat': 'openai',
  'openai responses': 'openai',
  '@anthropic-ai/sdk': '@anthropic-ai/sdk',
  'AI SDK openai': 'ai',
  'AI SDK openai chat': 'ai',
  'AI SDK openai-compatible': 'ai',
  'AI SDK anthropic': 'ai',
  'LangChain ChatOpenAI': '@langchain/openai',
  'LangChain ChatOpenAI responses': '@langchain/openai',
  'LangChain ChatAnthropic': '@langchain/anthropic',
  '@openai/agents responses': '@openai/agents',
  '@openai/agents chat': '@openai/agents',
  'LlamaIndex OpenAI': '@llamaindex/openai',
  'LlamaIndex Anthropic': '@llamaindex/anthropic',
  Mastra: '@mastra/core',
};

/** What cannot work here, and why. */
export const knownLimits: Readonly<Record<string, string>> = {
  'LlamaIndex Anthropic tools': 'LlamaIndex offers tools only to models whose names it knows',
  'LlamaIndex Anthropic tool stream': 'LlamaIndex offers tools only to models whose names it knows',
  'Codex without --compat': 'Codex brings a tool of type `namespace`',
};

type Server = { readonly url: string; readonly token: string };

export type CodingTool = {
  readonly name: string;
  readonly package: keyof typeof toolVersions;
  readonly command: string;
  /** Environment variables, as a person would set them. */
  env(server: Server): Readonly<Record<string, string>>;
  /** Files in the home folder (`~/…`) or in the working folder. */
  files?(server: Server): Readonly<Record<string, string>>;
  args(prompt: string): readonly string[];
};

export const codingTools: readonly CodingTool[] = [
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    command: 'claude',
    env: ({ url, token }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: token,
      ANTHROPIC_MODEL: 'guide',
      ANTHROPIC_SMALL_FAST_MODEL: 'guide',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    args: (prompt) => ['-p', prompt, '--model', 'guide', '--allowedTools', 'Bash'],
  },
  {
    name: 'Codex',
    package: '@openai/codex',
    command: 'codex',
    env: ({ token }) => ({ CLOISTER_TOKEN: token }),
    files: ({ url }) => ({
      '~/.codex/config.toml': `model = "guide"
model_provider = "cloister"

[model_providers.cloister]
name = "cloister"
base_url = "${url}/v1"
env_key = "CLOISTER_TOKEN"
wire_api = "responses"

[analytics]
enabled = false
`,
    }),
    args: (prompt) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    command: 'opencode',
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
    files: ({ url, token }) => ({
      'opencode.json': `${JSON.stringify(
        {
          share: 'disabled',
          provider: {
            cloister: {
              npm: '@ai-sdk/openai-compatible',
              name: 'cloister',
              options: { baseURL: `${url}/v1`, apiKey: token },
              models: { guide: { name: 'guide' } },
            },
          },
          permission: 'allow',
        },
        null,
        2,
      )}\n`,
    }),
    args: (prompt) => ['run', '-m', 'cloister/guide', prompt],
  },
  {
    name: 'pi',
    package: '@mariozechner/pi-coding-agent',
    command: 'pi',
    env: () => ({}),
    files: ({ url, token }) => ({
      '~/.pi/agent/models.json': `${JSON.stringify(
        {
          providers: {
            cloister: {
              baseUrl: `${url}/v1`,
              apiKey: token,
              api: 'openai-completions',
              models: [{ id: 'guide', name: 'guide', input: ['text'], contextWindow: 128_000, maxTokens: 8_000 }],
            },
          },
        },
        null,
        2,
      )}\n`,
    }),
    args: (prompt) => ['-p', '--provider', 'cloister', '--model', 'guide', prompt],
  },
  {
    name: 'Qwen Code',
    package: '@qwen-code/qwen-code',
    command: 'qwen',
    env: ({ url, token }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: token, OPENAI_MODEL: 'guide' }),
    args: (prompt) => ['--auth-type', 'openai', '-y', '-p', prompt],
  },
  {
    name: 'Continue',
    package: '@continuedev/cli',
    command: 'cn',
    env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
    files: ({ url, token }) => ({
      'config.yaml': `name: cloister
version: 1.0.0
schema: v1
models:
  - name: guide
    provider: openai
    model: guide
    apiBase: ${url}/v1
    apiKey: ${token}
    roles: [chat]
    capabilities: [tool_use]
`,
    }),
    args: (prompt) => ['--config', './config.yaml', '--auto', '-p', prompt],
  },
];

export const writeToolFiles = (tool: CodingTool, server: Server, home: string, work: string): void => {
  for (const [name, text] of Object.entries(tool.files?.(server) ?? {})) {
    const path = name.startsWith('~/') ? join(home, name.slice(2)) : join(work, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
};
