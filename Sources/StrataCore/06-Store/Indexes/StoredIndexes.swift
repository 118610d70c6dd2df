import Foundation

/// The indexes of a store as one catalogue knows them: the schema's, then those that were added to the store itself.
///
/// ```
///   meta "index/<name>"      missing ──▶ growing ──▶ complete
///                            no commit   commits     commits keep it,
///                            keeps it    keep it     fetches use it
/// ```
struct StoredIndexes: Sendable {
  enum State: Sendable, Hashable {
    /// There is nothing, or something that means another thing.
    case absent
    /// It is being built: every entry is right, but not every row has one.
    case growing
    /// Every row has its entry.
    case complete
  }

  /// By number: first the schema's.
  let all: [IndexSchema]
  /// By number.
  let states: [State]
  /// By number; nil for indexes of entities that the configuration leaves out, and for those that this process has not opened yet.
  let keyspaces: [Keyspace?]
  /// By number: which rows a partial index holds; nil for an index of all rows.
  let filters: [CompiledPredicate?]
  /// By entity number: the added ones that cover it.
  let addedByEntity: [[IndexSchema]]
  /// The added ones, also those whose names the schema uses for its own.
  let added: [AddedIndex]
  /// Names of stored indexes that this schema cannot maintain.
  let foreign: [String]
  /// Names of keyspaces of added indexes that this process has to open.
  let missingKeyspaces: [String]

  /// - Parameter open: The keyspaces that are valid in the transactions the catalogue is for.
  init(_ parts: StoreParts, _ transaction: borrowing ReadTransaction, open: [Keyspace]) throws {
    let schema = parts.schema
    var stored: [String: String] = [:]
    for (name, value) in try parts.meta.entries("index/", transaction) {
      stored[name] = String(decoding: value, as: UTF8.self)
    }
    var (all, keyspaces, missing) = (schema.indexes, parts.indexes, [String]())
    let own = Set(schema.indexes.map(\.name))
    var addedByEntity = [[IndexSchema]](repeating: [], count: schema.entities.count)
    let added = try Self.added(parts.meta, transaction)
    for index in added where !own.contains(index.qualifiedName) {
      // One that means nothing here is foreign.
      guard let compiled = Self.compiled(index, number: all.count, schema) else { continue }
      let name = Self.keyspaceName(index.qualifiedName)
      let isHeld = parts.rows[schema.entities[compiled.owner].hierarchyNumber] != nil
      let keyspace = isHeld ? open.first { $0.name == name } : nil
      if isHeld, keyspace == nil, stored[index.qualifiedName] != nil { missing.append(name) }
      all.append(compiled)
      keyspaces.append(keyspace)
      for entity in schema.entities[compiled.owner].subtree { addedByEntity[entity].append(compiled) }
    }
    states = all.map { index in
      guard let text = stored[index.name] else { return .absent }
      if text == index.signature { return .complete }
      return IndexGrowth.next(in: text, index.signature) == nil ? .absent : .growing
    }
    filters = try all.map { index in
      try IndexFilter.of(index, schema).map { filter in
        let owner = schema.entities[index.owner]
        return CompiledPredicate(
          filter.predicate, rootName: schema.hierarchies[owner.hierarchyNumber].rootName,
          storeIdentifier: nil, schema: schema)
      }
    }
    let known = Set(zip(all, states).compactMap { $1 == .absent ? nil : $0.name })
    foreign = stored.keys.filter { !known.contains($0) }.sorted()
    missingKeyspaces = missing
    self.all = all
    self.keyspaces = keyspaces
    self.added = added
    self.addedByEntity = addedByEntity
  }

  /// An index that was added, compiled for the schema; nil when it, or its predicate, means nothing here: it speaks of attributes of another model.
  static func compiled(_ added: AddedIndex, number: Int = 0, _ schema: Schema) -> IndexSchema? {
    guard let index = try? added.compiled(number: number, schema) else { return nil }
    do { _ = try IndexFilter.of(index, schema) } catch { return nil }
    return index
  }

  /// Whether fetches may look into the index.
  func isUsable(_ number: Int) -> Bool { states[number] == .complete && keyspaces[number] != nil }

  /// Whether commits must keep the index right: it may still be growing.
  func isMaintained(_ number: Int) -> Bool { states[number] != .absent && keyspaces[number] != nil }

  /// The indexes that commits must keep right.
  var maintained: some Sequence<IndexSchema> { all.lazy.filter { self.isMaintained($0.number) } }

  func index(named name: String) -> IndexSchema? { all.first { $0.name == name } }

  static func keyspaceName(_ index: String) -> String { "index:" + index }

  /// That every predicate of the schema's indexes is one that an index can have.
  /// - Throws: ``ModelError`` with a sentence for each that is not.
  static func requireSoundFilters(_ schema: Schema) throws {
    var sentences: [String] = []
    for index in schema.indexes {
      do { _ = try IndexFilter.of(index, schema) } catch let error as ModelError {
        sentences += error.sentences
      }
    }
    if !sentences.isEmpty { throw ModelError(sentences) }
  }

  /// What the store keeps of indexes that were added to it, by name. An index whose definition is unreadable cannot be built: it is
  /// left out.
  static func added(_ meta: MetaKeyspace, _ transaction: borrowing ReadTransaction) throws -> [AddedIndex] {
    try meta.entries("added/", transaction).compactMap { name, value in
      let index = try? BoundedJSON.decode(AddedIndex.self, from: Data(value))
      return index?.qualifiedName == name ? index : nil
    }
  }
}

/// This process has not opened the keyspace of an index that the store has gained, which a commit must keep right.
struct MissingKeyspaces: Error {
  let names: [String]
}
