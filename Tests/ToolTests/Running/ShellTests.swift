import Foundation
import Strata
import Testing

@testable import StrataCommand

/// The prompt, on a pipe and key by key.
@Suite struct ShellTests {
  @Test func linesOfAPipeAreCommands() throws {
    let stand = try Stand.people()
    let said = try Tool.spawn(
      ["shell", stand.path],
      input:
        "# people\n\ncount Person\nrows Person --where \"name == 'Ann'\" --columns name,age --csv\nexit\ncount Team\n"
    )
    #expect(said.code == 0 && said.output == "3\nname,age\nAnn,30\n", "\(said)")
    let failing = try Tool.spawn(["shell", stand.path], input: "count Persn\ncount Person\n")
    #expect(failing.code == 64 && failing.output.isEmpty, "\(failing)")
    let going = try Tool.spawn(
      ["shell", stand.path, "--keep-going"], input: "count Persn\nshow Person/p9\ncount Person\n")
    #expect(going.code == 4 && going.output == "3\n", "\(going)")
    let unknown = try Tool.spawn(["shell", stand.path], input: "cuont Person\n")
    #expect(unknown.code == 64 && unknown.error.contains("Did you mean “count”?"), "\(unknown)")
    let quotes = try Tool.spawn(["shell", stand.path], input: "rows 'Person\n")
    #expect(quotes.code == 64 && quotes.error.contains("quotes"), "\(quotes)")
    let none = try Tool.spawn(["shell", stand.folder("None.strata")], input: "")
    #expect(none.code == 4, "\(none)")
    // Commands that need the store for themselves get it.
    let compact = try Tool.spawn(["shell", stand.path], input: "count Person\ncompact\ncount Person\n")
    #expect(
      compact.code == 0 && compact.output.hasPrefix("3\n") && compact.output.hasSuffix("3\n"), "\(compact)")
  }

  @Test func wordsAreTakenApart() throws {
    #expect(
      try ShellWords.split("rows Person --where 'a == \"b c\"' x\\ y \"q\\\"r\" ''") == [
        "rows", "Person", "--where", "a == \"b c\"", "x y", "q\"r", "",
      ])
    #expect(try ShellWords.split("  ") == [])
    #expect(throws: ShellWords.Unfinished.self) { try ShellWords.split("'open") }
    #expect(throws: ShellWords.Unfinished.self) { try ShellWords.split("open\\") }
  }

  @Test func whatCanFollowIsKnown() throws {
    let completer = Completer(try Stand.model().schema())
    #expect(completer.candidates(for: "ro").words == ["rows"])
    #expect(completer.candidates(for: "s").words == ["salvage", "schema", "show", "stats"])
    #expect(completer.candidates(for: "rows ").words == ["Person", "Team"])
    #expect(completer.candidates(for: "rows Pe").words == ["Person"])
    #expect(completer.candidates(for: "rows Person --l").words == ["--limit"])
    #expect(completer.candidates(for: "rows Person --wh").words == ["--where"])
    let name = completer.candidates(for: "rows Person --where 'na")
    #expect(name.words == ["name"] && name.start == 21)
    #expect(completer.candidates(for: "show T").words == ["Team/p"])
    #expect(Completer.common(["name", "names", "nab"]) == "na")
  }

  private func line(_ history: [String] = []) throws -> EditedLine {
    let completer = Completer(try Stand.model().schema())
    return EditedLine(history: history) { completer.candidates(for: $0) }
  }

  @Test func keysEditTheLine() throws {
    var line = try line()
    func type(_ text: String) { for letter in text { _ = line.press(.text(String(letter))) } }
    type("count Pesron")
    for _ in 0..<4 { _ = line.press(.left) }
    _ = line.press(.delete)
    _ = line.press(.right)
    type("s")
    #expect(line.text == "count Person" && line.cursor == 10)
    _ = line.press(.end)
    _ = line.press(.deleteWord)
    #expect(line.text == "count ")
    type("Té👩‍👩‍👧")
    _ = line.press(.backspace)
    #expect(line.text == "count Té")
    _ = line.press(.home)
    _ = line.press(.deleteToEnd)
    #expect(line.text.isEmpty)
    type("abc")
    _ = line.press(.deleteToStart)
    #expect(line.text.isEmpty)
    type("x")
    #expect(line.press(.endOfFile) == .none)
    _ = line.press(.interrupt)
    #expect(line.text.isEmpty && line.press(.endOfFile) == .ended)
  }

  @Test func earlierLinesComeBackAndWordsAreCompleted() throws {
    var line = try line(["first", "second"])
    _ = line.press(.text("now"))
    _ = line.press(.up)
    #expect(line.text == "second")
    _ = line.press(.up)
    _ = line.press(.up)
    #expect(line.text == "first")
    _ = line.press(.down)
    _ = line.press(.down)
    #expect(line.text == "now")
    #expect(line.press(.enter) == .line("now") && line.history == ["first", "second", "now"])
    _ = line.press(.text("ro"))
    #expect(line.press(.tab) == .none && line.text == "rows ")
    #expect(line.press(.tab) == .candidates(["Person", "Team"]))
    _ = line.press(.text("T"))
    #expect(line.press(.tab) == .none && line.text == "rows Team ")
  }
}
