// The team of `cloister demo` in a plain loop: its instructions, its tools and its scripted model are those of the agent files.
import { readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { DemoTeam } from '#headends/cli';
import { agentLine, rehearse } from '#testkit';
import type { Script } from '#testkit';
import { demoFolder } from './demo-folder.ts';

const lead = 'desk';
const members = [lead, 'accountant', 'reader'];

export const openDemo = async (cwd: string): Promise<DemoTeam> => {
  const [office, { default: script }, loop] = (await Promise.all(
    ['office.mjs', 'rehearsal.mjs', 'plain-loop.mjs'].map((file) => import(pathToFileURL(inDemo(file)).href)),
  )) as [OfficeModule, { readonly default: Script }, LoopModule];
  const { default: tools, secret, injected, sent } = office;
  const team = Object.fromEntries(await Promise.all(members.map(async (name) => [name, await instructionsOf(name)])));
  const source = await readFile(inDemo('plain-loop.mjs'), 'utf8');
  return {
    agent: shownPath(inDemo(`${lead}.ai`), cwd),
    loop: shownPath(inDemo('plain-loop.mjs'), cwd),
    loopLines: source.trimEnd().split('\n').length,
    secret,
    owner: 'accountant',
    injected,
    sent,
    runPlain: async (input) => {
      const model = rehearse(script);
      const callable = Object.fromEntries(tools.map((tool) => [`office__${tool.name}`, tool.execute]));
      const { answer, requests } = await loop.runPlainTeam({
        team,
        lead,
        tools: callable,
        model: model.model.language,
        input,
      });
      return {
        answer,
        requests: requests.map(({ agent, prompt, content }) => ({
          agent,
          prompt: JSON.stringify(prompt),
          calls: content.flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : [])),
        })),
      };
    },
  };
};

type OfficeModule = Pick<DemoTeam, 'secret' | 'injected' | 'sent'> & {
  readonly default: readonly { readonly name: string; readonly execute: Execute }[];
};

type Execute = (args: JsonObject) => string;

type LoopModule = {
  runPlainTeam(options: {
    readonly team: Readonly<Record<string, string>>;
    readonly lead: string;
    readonly tools: Readonly<Record<string, Execute>>;
    readonly model: LanguageModelV4;
    readonly input: string;
  }): Promise<{
    readonly answer: string;
    readonly requests: readonly {
      readonly agent: string;
      readonly prompt: unknown;
      readonly content: Awaited<ReturnType<LanguageModelV4['doGenerate']>>['content'];
    }[];
  }>;
};

const inDemo = (file: string): string => join(demoFolder, file);

/** The prompt of its file, below the line by which the scripted model knows who asks. */
const instructionsOf = async (name: string): Promise<string> => {
  const [, , ...prompt] = (await readFile(inDemo(`${name}.ai`), 'utf8')).split(/^---$/mu);
  return `${agentLine(name)}\n${prompt.join('---').trim()}`;
};

/** Relative if it is below the current folder. */
const shownPath = (path: string, cwd: string): string => {
  const short = relative(cwd, path);
  return short.split(sep)[0] === '..' ? path : short;
};
