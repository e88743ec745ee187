// Checks an answer to a question before anything is done with it.
import { CloisterError, isExactJson, isObject, utf8Bytes } from '#base';
import type { QuestionAnswer } from '#contracts';

const [reasonBytesMax, argsBytesMax] = [64 * 1024, 1_000_000];

/** The result of a client's tool: as large as that of any other tool. */
const resultBytesMax = 16_000_000;

/** `isResult`: it may be the result of a client's tool. Throws `answer_invalid`. */
export const checkAnswer = (answer: QuestionAnswer, isResult = false): void => {
  if (!isObject(answer)) throw invalid('expected an object with `allow` and `sha256`.');
  const { allow, sha256, args, reason, remember } = answer as Readonly<Partial<Record<keyof QuestionAnswer, unknown>>>;
  if (typeof allow !== 'boolean') throw invalid('allow: expected true or false.');
  if (typeof sha256 !== 'string') throw invalid('sha256: expected the hash that the question shows.');
  if (args !== undefined && !isObject(args)) throw invalid('args: expected an object.');
  if (!isExactJson(args)) throw invalid('args: a number is too large or too small.');
  if (args !== undefined && utf8Bytes(JSON.stringify(args)) > argsBytesMax)
    throw invalid(`args: at most ${argsBytesMax} bytes.`);
  if (reason !== undefined && typeof reason !== 'string') throw invalid('reason: expected a text.');
  const bytesMax = isResult ? resultBytesMax : reasonBytesMax;
  if (typeof reason === 'string' && utf8Bytes(reason) > bytesMax) throw invalid(`reason: at most ${bytesMax} bytes.`);
  if (remember !== undefined && remember !== 'run') throw invalid('remember: expected `run`.');
};

const invalid = (detail: string): CloisterError => new CloisterError('answer_invalid', detail);
