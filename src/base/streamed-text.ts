// Text for readers that cannot take anything back: what was sent stays sent, and what is sent ends with the whole answer. A
// paragraph is the text of one attempt.
export class StreamedText {
  /** What was sent of the current paragraph; `#space` is trailing white space, held back until more text comes. */
  #sent = '';
  /** The previous paragraph, if all of it was sent: it may turn out to be the answer. */
  #last = '';
  #space = '';
  #hasSent = false;
  /** Pieces of the paragraph are missing, so nothing more of it is sent. */
  #lost = false;

  add(words: string): string {
    if (this.#lost) return '';
    const whole = this.#space + words;
    const trimmed = whole.trimEnd();
    this.#space = whole.slice(trimmed.length);
    if (trimmed === '') return '';
    const sent = this.#sent === '' ? this.#between() + trimmed : trimmed;
    this.#sent += trimmed;
    this.#hasSent = true;
    return sent;
  }

  next(): void {
    if (this.#sent !== '') this.#last = this.#lost ? '' : this.#sent;
    this.#sent = '';
    this.#space = '';
    this.#lost = false;
  }

  markLost(): void {
    this.#lost = true;
  }

  /** The part of the answer that was not sent yet. */
  finish(answer: string): string {
    if (answer === '' || answer === (this.#sent === '' ? this.#last : this.#sent)) return '';
    if (this.#sent !== '' && answer.startsWith(this.#sent)) return answer.slice(this.#sent.length);
    return this.#between() + answer;
  }

  #between(): string {
    return this.#hasSent ? '\n\n' : '';
  }
}
