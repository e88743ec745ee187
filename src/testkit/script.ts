// What a rehearsal script is made of. The same shape in TypeScript and in YAML, except that only TypeScript has functions.
import type { LanguageModelV4FinishReason, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { Price } from '#contracts';

export type Script = readonly ScriptLine[] | ScriptWithSettings;

export type ScriptWithSettings = {
  readonly lines: readonly ScriptLine[];
  /** Default true: a request that no line fits is an error. */
  readonly strict?: boolean;
  readonly modelId?: string;
  /** For `rehearsal.model`, which an agent with a money budget needs. */
  readonly price?: Price;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
};

/** One expectation. The first line that fits a request and is not used up answers it. */
export type ScriptLine = {
  /** Absent: fits every request. */
  readonly when?: When | ((request: RequestView) => boolean);
  /** How many requests it may answer. Default: any number. */
  readonly times?: number;
  /** A text, a reply, or a function of the request. Only functions are taken word for word, without `{{goal}}` and the like. */
  readonly reply: string | ScriptedReply | ((request: RequestView) => string | ScriptedReply);
};

/** All that is given must hold. */
export type When = {
  /** The name in the system message's line `You are the agent "<name>".` */
  readonly agent?: string;
  /** From 1: the number of assistant messages in the prompt, plus one. */
  readonly turn?: number;
  /** Part of the newest user or tool text, or of the goal. */
  readonly text?: string;
  /** Tried on the same texts as `text`. As a string: `/source/flags`. */
  readonly pattern?: RegExp | string;
};

/** Reasoning comes first, then text, then calls. */
export type ScriptedReply = {
  readonly text?: string;
  /** The text as the pieces it is streamed in. Otherwise `text` is cut between words. */
  readonly pieces?: readonly string[];
  readonly reasoning?: string;
  readonly calls?: readonly ScriptedCall[];
  /** What is not given is estimated: a quarter of the characters. `none`: the provider does not say. */
  readonly usage?: ScriptedUsage | 'none';
  readonly finish?: LanguageModelV4FinishReason['unified'];
  /** Before the first piece, or before the fault. */
  readonly delayMs?: number;
  /** Between two pieces. */
  readonly pieceDelayMs?: number;
  readonly fault?: ScriptedFault;
  /** With an HTTP status: the headers `retry-after-ms` and `retry-after`. */
  readonly retryAfterMs?: number;
};

export type ScriptedCall = {
  readonly tool: string;
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

export type ScriptedFault =
  /** An HTTP status from 400 to 599. */
  | number
  /** No connection. */
  | 'network'
  /** No answer until the request is aborted. */
  | 'timeout'
  /** The stream breaks in the middle. */
  | 'cut'
  /** The stream ends in the middle without a finish. */
  | 'end'
  /** An `error` part in the middle of a stream that began well. */
  | 'error'
  /** The tool calls' input is broken JSON. */
  | 'malformed'
  /** A finish with no content. */
  | 'empty';

/** A request as a script's functions see it. */
export type RequestView = {
  /** Null when the system message does not say. */
  readonly agent: string | null;
  readonly turn: number;
  /** The task, without the runtime's `Your task: `; else the first user message. */
  readonly goal: string;
  readonly system: string;
  readonly messages: LanguageModelV4Prompt;
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
  /** All user and tool text since the last assistant message. */
  readonly lastText: string;
  /** Results of the newest turn. */
  readonly toolResults: readonly ToolResultView[];
};

export type ToolResultView = {
  readonly tool: string;
  readonly id: string;
  readonly text: string;
  readonly ok: boolean;
};
