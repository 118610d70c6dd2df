import ArgumentParser
import Foundation
import StrataCore

/// What can be written next in the shell.
struct Completer: Sendable {
  private let entities: [String]
  /// By entity, names of properties.
  private let properties: [String: [String]]
  private let commands: [String]
  private let options: [String: [String]]

  init(_ schema: Schema) {
    entities = schema.entities.map(\.name).sorted()
    properties = schema.entities.reduce(into: [:]) { result, entity in
      result[entity.name] = entity.attributes.map(\.name).filter { !$0.hasPrefix("~") }.sorted()
    }
    commands = (StrataCommand.commandNames.filter { $0 != "shell" && $0 != "browse" } + ["help", "exit"])
      .sorted()
    options = StrataCommand.configuration.subcommands.reduce(into: [:]) { result, command in
      result[command._commandName] = Self.options(of: command)
    }
  }

  /// The long options that a command's help lists.
  private static func options(of command: any ParsableCommand.Type) -> [String] {
    let help = StrataCommand.helpMessage(for: command, columns: 200)
    var found: Set<String> = []
    for line in help.split(separator: "\n") where line.hasPrefix("  -") {
      for word in line.split(whereSeparator: { $0.isWhitespace || $0 == "," }) where word.hasPrefix("--") {
        found.insert(String(word.prefix { $0 == "-" || $0.isLetter }))
      }
    }
    return found.sorted()
  }

  /// What could stand in place of the last word of `text`, which begins at the character `start`.
  func candidates(for text: String) -> (start: Int, words: [String]) {
    let start =
      text.lastIndex { $0.isWhitespace || "'\"(,!=<>".contains($0) }.map { text.index(after: $0) }
      ?? text.startIndex
    let word = String(text[start...])
    let before = text[..<start].split(whereSeparator: \.isWhitespace).map(String.init)
    let place = text.distance(from: text.startIndex, to: start)
    let all: [String]
    if before.isEmpty {
      all = commands
    } else if word.hasPrefix("-") {
      all = options[before[0]] ?? []
    } else if before[0] == "help" {
      all = commands
    } else if before.count == 1, ["rows", "count", "explain"].contains(before[0]) {
      all = entities
    } else if before.count >= 2, let known = properties[before[1]] {
      all = known
    } else if before[0] == "show" {
      all = entities.map { $0 + "/p" }
    } else if before.last == "--entity" {
      all = entities
    } else {
      all = []
    }
    return (place, all.filter { $0.hasPrefix(word) })
  }

  /// The longest text that all of `words` begin with.
  static func common(_ words: [String]) -> String {
    guard var prefix = words.first else { return "" }
    for word in words.dropFirst() { while !word.hasPrefix(prefix) { prefix.removeLast() } }
    return prefix
  }
}
