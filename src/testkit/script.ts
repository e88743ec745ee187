// The parts of a rehearsal script. TypeScript and YAML use the same shape, except that only TypeScript has functions.
import type { LanguageModelV4FinishReason, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { Price } from '#contracts';

/** What a rehearsal follows: a list of lines, or lines with settings. */
export type Script = readonly ScriptLine[] | ScriptWithSettings;

/** A script with what is known about its model. */
export type ScriptWithSettings = {
  /** Tried in this order. */
  readonly lines: readonly ScriptLine[];
  /** Default true: a request that no line fits fails. */
  readonly strict?: boolean;
  /** The name of the model. Default: `rehearsal`. */
  readonly modelId?: string;
  /** The price in `rehearsal.model`; an agent with a money budget needs one. */
  readonly price?: Price;
  /** The size of its context window and its longest reply. */
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
};

/** One expectation. The first line that fits a request and is not used up answers it. */
export type ScriptLine = {
  /** Absent: fits every request. */
  readonly when?: When | ((request: RequestView) => boolean);
  /** How many requests it answers. Default: any number. */
  readonly times?: number;
  /** A text, a reply, or a function of the request. `{{goal}}` and the like are filled in, except in what a function returns. */
  readonly reply: string | ScriptedReply | ((request: RequestView) => string | ScriptedReply);
};

/** All given conditions must hold. */
export type When = {
  /** The name in the system message's line `You are the agent "<name>".` */
  readonly agent?: string;
  /** From 1: the number of assistant messages in the prompt, plus one. */
  readonly turn?: number;
  /** Part of the newest user or tool text, or of the goal. */
  readonly text?: string;
  /** Matched against the same texts as `text`. As a string: `/source/flags`. */
  readonly pattern?: RegExp | string;
};

/** Reasoning comes first, then text, then calls. */
export type ScriptedReply = {
  /** What it says. */
  readonly text?: string;
  /** The pieces to stream the text in. By default, `text` is split between words. */
  readonly pieces?: readonly string[];
  /** What it thinks. */
  readonly reasoning?: string;
  /** The tools that it calls. */
  readonly calls?: readonly ScriptedCall[];
  /** Missing figures are estimated: four characters to a token. `none`: the provider reports no usage. */
  readonly usage?: ScriptedUsage | 'none';
  /** Why it stops. Default: `tool-calls` if there are calls, otherwise `stop`. */
  readonly finish?: LanguageModelV4FinishReason['unified'];
  /** Before the first piece, or before the fault. */
  readonly delayMs?: number;
  /** Between two pieces. */
  readonly pieceDelayMs?: number;
  /** How the request fails, instead of being answered in full. */
  readonly fault?: ScriptedFault;
  /** With an HTTP status: the headers `retry-after-ms` and `retry-after`. */
  readonly retryAfterMs?: number;
};

/** One tool call of a scripted reply. */
export type ScriptedCall = {
  /** The name as the model sees it. */
  readonly tool: string;
  /** Default: no arguments. */
  readonly args?: JsonObject;
  /** Default: `call_<turn>_<n>`. */
  readonly id?: string;
};

/** `input` is the whole input, cached parts included. */
export type ScriptedUsage = {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

/** How a scripted request fails. */
export type ScriptedFault =
  /** An HTTP status from 400 to 599. */
  | number
  /** No connection. */
  | 'network'
  /** No response until the request is aborted. */
  | 'timeout'
  /** The stream breaks in the middle. */
  | 'cut'
  /** The stream ends in the middle without a finish. */
  | 'end'
  /** An `error` part in the middle of the stream. */
  | 'error'
  /** The input of the tool calls is not valid JSON. */
  | 'malformed'
  /** A response without content. */
  | 'empty';

/** A request as a script's functions see it. */
export type RequestView = {
  /** Null if the system message does not say. */
  readonly agent: string | null;
  /** From 1: the number of assistant messages in the prompt, plus one. */
  readonly turn: number;
  /** The task, without the runtime's `Your task: `; else the first user message. */
  readonly goal: string;
  /** The system messages, joined. */
  readonly system: string;
  /** The whole prompt, as the AI SDK has it. */
  readonly messages: LanguageModelV4Prompt;
  /** Names of the available tools. */
  readonly tools: readonly string[];
  /** All user and tool text since the last assistant message. */
  readonly lastText: string;
  /** Tool results of the latest turn. */
  readonly toolResults: readonly ToolResultView[];
};

/** The result of one tool call, as a script's functions see it. */
export type ToolResultView = {
  readonly tool: string;
  readonly id: string;
  readonly text: string;
  /** Whether the call succeeded. */
  readonly ok: boolean;
};
