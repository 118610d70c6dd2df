import Foundation

/// Reads lines from a terminal, with editing, completion and a history that outlasts the program.
final class LineEditor {
  private let prompt: String
  private let historyFile: String
  private var line: EditedLine

  init(prompt: String, completer: Completer) {
    self.prompt = prompt
    let environment = ProcessInfo.processInfo.environment
    historyFile = environment["STRATA_HISTORY"] ?? NSHomeDirectory() + "/.strata_history"
    let text = (try? String(contentsOfFile: historyFile, encoding: .utf8)) ?? ""
    line = EditedLine(history: text.split(separator: "\n").map(String.init)) { completer.candidates(for: $0) }
  }

  /// Writes the history, for the user alone to read.
  func saveHistory() {
    let bytes = Array((line.history.joined(separator: "\n") + "\n").utf8)
    let descriptor = open(historyFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      try? Output.errors.line(
        "strata: The lines typed cannot be kept in \(historyFile): \(String(cString: strerror(errno))).")
      return
    }
    defer { close(descriptor) }
    try? Output(descriptor: descriptor, name: historyFile, holding: 0).write(bytes)
  }

  /// The next line; nil when there are no more.
  func read() throws -> String? {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return Swift.readLine() }
    var raw = before
    cfmakeraw(&raw)
    // Lines of output begin at the left as ever.
    raw.c_oflag = before.c_oflag
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw)
    let saved = before
    Interruption.restoreTerminal {
      var saved = saved
      tcsetattr(STDIN_FILENO, TCSANOW, &saved)
    }
    defer {
      tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
      Interruption.restoreTerminal(nil)
    }
    let output = Output.current
    try draw(output)
    while let key = nextKey() {
      let event = line.press(key)
      if key == .interrupt { try output.write("^C\n") }
      if key == .redraw { try output.write("\u{1B}[H\u{1B}[2J") }
      switch event {
      case .none: break
      case .line(let text):
        try output.write("\n")
        try output.flush()
        return text
      case .ended:
        try output.write("\n")
        try output.flush()
        return nil
      case .candidates(let words): try output.write("\n" + words.joined(separator: "  ") + "\n")
      }
      try draw(output)
    }
    return nil
  }

  private func draw(_ output: Output) throws {
    let back = line.characters.count - line.cursor
    try output.write("\r\u{1B}[K" + prompt + line.text + (back > 0 ? "\u{1B}[\(back)D" : ""))
    try output.flush()
  }

  private func nextByte() -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = Foundation.read(STDIN_FILENO, &byte, 1)
      if count == 1 { return byte }
      if count == 0 || errno != EINTR { return nil }
    }
  }

  private func nextKey() -> EditedLine.Key? {
    while let byte = nextByte() {
      switch byte {
      case 1: return .home
      case 3: return .interrupt
      case 4: return .endOfFile
      case 5: return .end
      case 8, 127: return .backspace
      case 9: return .tab
      case 11: return .deleteToEnd
      case 12: return .redraw
      case 10, 13: return .enter
      case 21: return .deleteToStart
      case 23: return .deleteWord
      case 27: if let key = escapedKey() { return key }
      case 32...: if let text = character(byte) { return .text(text) }
      default: break
      }
    }
    return nil
  }

  private func escapedKey() -> EditedLine.Key? {
    guard let first = nextByte(), first == UInt8(ascii: "[") || first == UInt8(ascii: "O"),
      var letter = nextByte()
    else { return nil }
    var digits = ""
    while (48...57).contains(letter) || letter == UInt8(ascii: ";") {
      digits.append(Character(UnicodeScalar(letter)))
      guard let next = nextByte() else { return nil }
      letter = next
    }
    switch (letter, digits) {
    case (UInt8(ascii: "A"), _): return .up
    case (UInt8(ascii: "B"), _): return .down
    case (UInt8(ascii: "C"), _): return .right
    case (UInt8(ascii: "D"), _): return .left
    case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return .home
    case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return .end
    case (UInt8(ascii: "~"), "3"): return .delete
    default: return nil
    }
  }

  /// A character of several bytes, as far as its first one tells how many.
  private func character(_ first: UInt8) -> String? {
    var bytes = [first]
    let more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3
    for _ in 0..<more {
      guard let next = nextByte() else { return nil }
      bytes.append(next)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
