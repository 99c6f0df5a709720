// The words of the question with their media: placeholders in the text, and what stands behind each of them below it.

const PLACEHOLDER = /<((?:image|audio|video)_[1-9][0-9]*)>/g;

function modalityOf(placeholder) {
  return placeholder.split("_")[0];
}

class PromptField {
  constructor(editor) {
    this.editor = editor;
    this.figures = new Map();
    const { say, id, content } = editor;
    this.area = textArea("prompt", content.prompt, (text) => ((content.prompt = text), this.draw(), editor.changed()), {
      id: `${id}-prompt`, class: "qe-input qe-prompt", rows: 4, maxlength: 20000, placeholder: say("prompt_hint"),
    });
    for (const moment of ["keyup", "click", "select", "blur", "input"]) this.area.addEventListener(moment, () => this._note());
    this.swapNote = make("div", { class: "qe-swap", role: "status", hidden: true });
    this.strip = make("div", { class: "qe-strip", "data-control": "media", tabindex: -1, role: "group", "aria-label": say("media") });
    this.node = make(
      "div", { class: "qe-stack" },
      make("div", { class: "qe-field" }, make("label", { class: "qe-label", for: this.area.id }, say("prompt")), this.area, editor.slot("prompt", this.area)),
      this.swapNote, this.strip, editor.slot("media"),
      make("div", { class: "qe-row qe-to-library" }, button(say("choose_media"), () => this._toLibrary())),
    );
    this.draw();
  }

  _note() {
    this.caret = [this.area.selectionStart, this.area.selectionEnd];
  }

  // A material comes in: in the place of another one, or under the next free name where the caret stands.
  put(material) {
    const { content } = this.editor;
    const wanted = material.placeholder ?? (this.swap && modalityOf(this.swap) === material.modality ? this.swap : undefined);
    this.editor.materials.set(material.material_id, material);
    if (wanted && wanted in content.media) {
      content.media = { ...content.media, [wanted]: material.material_id };
      // What was shown in the old one is not true of the new one.
      this.dropped = wanted in content.evidence ? wanted : undefined;
      content.evidence = Object.fromEntries(Object.entries(content.evidence).filter(([place]) => place !== wanted));
    } else {
      const name = wanted ?? this._free(material.modality);
      content.media = { ...content.media, [name]: material.material_id };
      this._insert(`<${name}>`);
      if (!content.required.includes(material.modality)) content.required = [...content.required, material.modality];
    }
    this.swap = undefined;
    this.draw();
    this.editor.senses.draw();
    this.editor.changed();
    this.area.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  // On narrow screens the library stands below the form.
  _toLibrary() {
    const library = document.querySelector(".st-key-author-aside");
    library?.scrollIntoView({ block: "start", behavior: "smooth" });
    library?.querySelector("input")?.focus({ preventScroll: true });
  }

  _free(modality) {
    const { media, prompt } = this.editor.content;
    let number = 1;
    while (`${modality}_${number}` in media || prompt.includes(`<${modality}_${number}>`)) number += 1;
    return `${modality}_${number}`;
  }

  _insert(text) {
    const end = this.area.value.length;
    const [from, to] = this.caret ?? [end, end];
    this.area.setRangeText(text, from, to, "end");
    this._note();
    this.editor.content.prompt = this.area.value;
    fitHeight(this.area);
  }

  _remove(place) {
    const { content } = this.editor;
    content.media = Object.fromEntries(Object.entries(content.media).filter(([name]) => name !== place));
    content.evidence = Object.fromEntries(Object.entries(content.evidence).filter(([name]) => name !== place));
    this.area.value = content.prompt = content.prompt.replaceAll(`<${place}>`, "");
    this.caret = undefined;
    this.draw();
    this.editor.senses.draw();
    this.editor.changed();
  }

  draw() {
    const { say, content } = this.editor;
    const named = [...content.prompt.matchAll(PLACEHOLDER)].map((found) => found[1]);
    const order = (place) => (named.includes(place) ? named.indexOf(place) : named.length);
    const places = Object.keys(content.media).sort((one, other) => order(one) - order(other));
    const wanted = places.map((place) => this._figure(place, named.includes(place)));
    for (const [key, figure] of this.figures) if (!wanted.includes(figure)) this.figures.delete(key);
    // A player that stays where it is goes on playing.
    wanted.forEach((figure, at) => this.strip.children[at] !== figure && this.strip.insertBefore(figure, this.strip.children[at] ?? null));
    while (this.strip.children.length > wanted.length) this.strip.lastChild.remove();
    if (!places.length) this.strip.append(make("p", { class: "qe-quiet" }, say("media_hint")));
    const isSwapping = this.swap in content.media;
    this.swapNote.hidden = !isSwapping && !(this.dropped in content.media);
    if (isSwapping) this.swapNote.replaceChildren(say("swap_hint", { place: this.swap }), " ", button(say("cancel"), () => ((this.swap = undefined), this.draw())));
    else if (!this.swapNote.hidden) this.swapNote.replaceChildren(say("ev_dropped", { place: this.dropped }), " ", iconButton("×", say("close"), () => ((this.dropped = undefined), this.draw())));
  }

  _figure(place, isPlaced) {
    const { say, content } = this.editor;
    const key = `${place} ${content.media[place]}`;
    const material = this.editor.materials.get(content.media[place]);
    let figure = this.figures.get(key);
    if (!figure || figure.isUnknown !== !material) {
      figure = make("figure", { class: "qe-figure", "data-place": place }, this._player(place, material),
        make("figcaption", {}, make("code", {}, `<${place}>`), " ", make("span", { class: "qe-quiet" }, material ? `${material.label} · ${material.facts}` : say("material_gone"))),
        make("div", { class: "qe-row" },
          button(say("insert_here"), () => (this._insert(`<${place}>`), this.draw(), this.editor.changed()), { class: "qe-button qe-insert" }),
          button(say("swap"), () => ((this.swap = place), this.draw()), { "aria-label": `${say("swap")} ${place}` }),
          button(say("remove"), () => this._remove(place), { "aria-label": `${say("remove")} ${place}` })));
      figure.isUnknown = !material;
      this.figures.set(key, figure);
    }
    figure.querySelector(".qe-insert").hidden = isPlaced;
    return figure;
  }

  _player(place, material) {
    if (!material) return make("div", { class: "qe-quiet" }, "–");
    const kinds = { image: "img", audio: "audio", video: "video" };
    const playing = modalityOf(place) !== "image";
    const attributes = playing ? { controls: true, preload: "metadata", "aria-label": place } : { alt: material.label, loading: "lazy" };
    const node = make(kinds[modalityOf(place)], { ...attributes, src: playing ? material.media_url : material.picture_url });
    // Addresses live for minutes only: one that is over is asked anew with the latest that the page knows.
    node.addEventListener("error", () => {
      const latest = this.editor.materials.get(material.material_id);
      const address = playing ? latest.media_url : latest.picture_url;
      if (address && node.getAttribute("src") !== address) node.setAttribute("src", address);
    });
    return node;
  }
}

// Which modalities the question needs, and what each medium contributes.
class SensesField {
  constructor(editor) {
    this.editor = editor;
    this.boxes = make("div", { class: "qe-options", role: "group", "aria-label": editor.say("field_required"), "data-control": "required", tabindex: -1 });
    this.place = make("div", { class: "qe-evidence", "data-control": "evidence" });
    this.node = make("div", { class: "qe-stack" }, make("p", { class: "qe-hint" }, editor.say("required_hint")), this.boxes, editor.slot("required"), this.place, editor.slot("evidence"));
    this.draw();
  }

  draw() {
    const { content, data } = this.editor;
    this.boxes.replaceChildren(...data.modalities.map(({ id, name }) => {
      const box = make("input", { type: "checkbox", checked: content.required.includes(id), value: id });
      box.addEventListener("change", () => {
        content.required = data.modalities.map((one) => one.id).filter((one) => (one === id ? box.checked : content.required.includes(one)));
        this.editor.changed();
      });
      return make("label", { class: "qe-option" }, box, name);
    }));
    this.showEvidence();
  }

  showEvidence() {
    const { content, data, materials } = this.editor;
    const media = Object.entries(content.media).flatMap(([placeholder, id]) => {
      const known = materials.get(id);
      if (!known) return [];
      const { material_id, label, media_url, picture_url, duration_s, width_px, height_px } = known;
      return [{ placeholder, modality: modalityOf(placeholder), material_id, label, url: media_url, picture_url, duration_s, width_px, height_px }];
    });
    const onChange = (placeholder, value) => {
      const others = Object.entries(content.evidence).filter(([place]) => place !== placeholder);
      content.evidence = Object.fromEntries(value ? [...others, [placeholder, value]] : others);
      this.shown.evidence = clone(content.evidence);
      this.editor.changed();
    };
    const shown = { media, evidence: clone(content.evidence) };
    const options = { ...shown, words: data.words, language: data.language, onChange };
    if (!this.mounted) this.mounted = mountEvidence(this.place, options);
    else if (!isSame(shown, this.shown)) this.mounted.update(options);
    this.shown = shown;
  }

  destroy() {
    this.mounted?.destroy();
  }
}
