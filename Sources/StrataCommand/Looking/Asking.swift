import ArgumentParser
import Foundation
import StrataCore

/// Which objects a command is about.
struct Asking: ParsableArguments {
  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Argument(help: "The entity whose objects are meant, with those of its subentities.") var entity: String
  @Option(
    name: .customLong("where"),
    help: "The condition, a predicate format string: \"age > 30 AND name BEGINSWITH 'A'\".")
  var condition: String?
  @Flag(help: "Leave out objects of subentities.") var exact = false

  /// The request, with names and types looked up.
  func request(_ window: StoreWindow, sort: [String] = [], limit: Int = 0, offset: Int = 0) throws
    -> ResolvedFetchRequest
  {
    try Question(store: store, entity: entity, condition: condition, isExact: exact)
      .request(window, sort: sort, limit: limit, offset: offset)
  }
}

/// A question for objects, in words.
struct Question {
  /// The store's name, for advice.
  let store: String
  let entity: String
  var condition: String?
  /// Whether objects of subentities are left out.
  var isExact = false

  /// The request, with names and types looked up.
  func request(_ window: StoreWindow, sort: [String] = [], limit: Int = 0, offset: Int = 0) throws
    -> ResolvedFetchRequest
  {
    let schema = window.schema
    let found = try Names.entity(entity, in: schema)
    var request = FetchRequest<ManagedObjectID>(entityName: found.name)
    request.includesSubentities = !isExact
    if let condition {
      request.predicate = try FetchPredicate(format: condition, dates: { ValueText.date($0) }) { text in
        window.identifier(try Names.object(text, in: schema, identifier: window.store.identifier))
      }
    }
    request.sortDescriptors = try sort.flatMap { try Self.sorts($0) }
    request.fetchLimit = limit
    request.fetchOffset = offset
    do {
      return try window.resolve(request)
    } catch let error as FetchError {
      throw pointing(error, found, schema, sort.joined(separator: ","))
    }
  }

  /// `age:desc,name`: keys with `:asc` or `:desc` behind them.
  static func sorts(_ text: String) throws -> [FetchSort] {
    try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
      let words = part.trimmingCharacters(in: .whitespaces).split(separator: ":", maxSplits: 1)
      guard let key = words.first else {
        throw Failure(.usage, "--sort \(Words.quoted(text)) has an empty key: it is written “age:desc,name”.")
      }
      switch words.dropFirst().first?.lowercased() {
      case nil, "asc", "ascending": return FetchSort(String(key))
      case "desc", "descending": return FetchSort(String(key), ascending: false)
      case let other?:
        throw Failure(.usage, "“\(other)” in --sort is no direction: it is “asc” or “desc”.")
      }
    }
  }

  /// The error with the line that it is about, a mark below the place, and the name that was probably meant.
  private func pointing(_ error: FetchError, _ entity: EntitySchema, _ schema: Schema, _ sort: String)
    -> Failure
  {
    var failure = Failure(.usage, error.statement)
    guard let key = error.key else { return failure }
    let isSort = if case .sortKey = error.part { true } else { false }
    let text = isSort ? sort : condition ?? ""
    if !text.contains(where: \.isNewline), let place = Self.place(of: key, in: text) {
      failure = Failure(
        .usage, "\(error.statement)\n\(text)\n\(String(repeating: " ", count: place))^")
      failure.keepsLines = true
    }
    if error.reason == .unknownKey {
      let names = (schema.entity(named: error.entityName) ?? entity).attributes.map(\.name)
        .filter { !$0.hasPrefix("~") }
      let guess = Words.nearest(key, among: names).map { "Did you mean “\($0)”? " } ?? ""
      failure.advice = "\(guess)“strata schema \(Words.quoted(store))” shows the names."
    }
    return failure
  }

  /// Where a key stands as a word, in characters.
  private static func place(of key: String, in text: String) -> Int? {
    var from = text.startIndex
    while let found = text.range(of: key, range: from..<text.endIndex) {
      func isPart(_ character: Character?) -> Bool {
        character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
      }
      let before = found.lowerBound > text.startIndex ? text[text.index(before: found.lowerBound)] : nil
      let after = found.upperBound < text.endIndex ? text[found.upperBound] : nil
      if !isPart(before) && !isPart(after) {
        return text.distance(from: text.startIndex, to: found.lowerBound)
      }
      from = found.upperBound
    }
    return nil
  }
}

/// Names of entities and objects on a command line.
enum Names {
  static func entity(_ name: String, in schema: Schema) throws -> EntitySchema {
    if let entity = schema.entity(named: name) { return entity }
    let names = schema.entities.map(\.name)
    let guess = Words.nearest(name, among: names).map { " Did you mean “\($0)”?" } ?? ""
    let list = names.prefix(20).joined(separator: ", ") + (names.count > 20 ? ", …" : "")
    throw Failure(
      .usage, "The store's model has no entity named “\(name)”.\(guess)", advice: "Its entities are: \(list)."
    )
  }

  /// `Entity/p7`, or the whole URI.
  static func object(_ text: String, in schema: Schema, identifier: UUID) throws -> ObjectAddress {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    var (name, key) = (parts.dropLast().joined(separator: "/"), parts.last ?? "")
    if text.lowercased().hasPrefix("x-coredata:") {
      guard parts.count == 5, let store = UUID(uuidString: parts[2]) else {
        throw Failure(.usage, "“\(text)” is no URI of an object.")
      }
      if store != identifier {
        throw Failure(.missing, "The object is of the store \(store), and this one is \(identifier).")
      }
      (name, key) = (parts[3].removingPercentEncoding ?? parts[3], parts[4])
    }
    guard key.first == "p", let number = UInt64(key.dropFirst()), number > 0, !name.isEmpty else {
      throw Failure(.usage, "“\(text)” names no object: it is written “Entity/p7”, or as the object's URI.")
    }
    return ObjectAddress(entity: try entity(name, in: schema).number, key: number)
  }

  static func text(_ object: ObjectAddress, in schema: Schema) -> String {
    "\(schema.entities[object.entity].name)/p\(object.key)"
  }
}
