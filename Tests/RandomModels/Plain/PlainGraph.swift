/// What a context has changed and not saved.
struct Pending: Sendable {
  var inserted: [Int: Record] = [:]
  var deleted: Set<Int> = []
  /// Attributes that were set, of models that are not new.
  var values: [Int: [Field: PlainValue]] = [:]
  /// The links of models some of whose relationships were changed. No other context touches those.
  var links: [Int: [Link: Set<Int>]] = [:]
  /// Whether something was set that turned out to be no change.
  var hasSettled = false

  var isEmpty: Bool {
    inserted.isEmpty && deleted.isEmpty && values.isEmpty && links.isEmpty && !hasSettled
  }

  /// Whether the model's relationships, or whether it is there, are this context's to say.
  func holds(_ uid: Int) -> Bool { inserted[uid] != nil || deleted.contains(uid) || links[uid] != nil }
  func touches(_ uid: Int) -> Bool { holds(uid) || values[uid] != nil }
}

/// The reference: what the store has, and what each context has changed.
///
/// Attributes may be changed in several contexts at once: property by property, what is saved last stays. Relationships, and whether a model is there, are
/// changed by one context at a time, so that the result is never in doubt.
struct PlainGraph: Sendable {
  private(set) var store: [Int: Record] = [:]
  private(set) var pending: [Pending]
  private var lastUID = 0

  init(places: Int) { pending = Array(repeating: Pending(), count: places) }

  // MARK: Looking

  /// A model as a context shows it; nil where it shows none.
  func record(_ uid: Int, in place: Int) -> Record? {
    let own = pending[place]
    if own.deleted.contains(uid) { return nil }
    if let new = own.inserted[uid] { return new }
    guard var record = store[uid] else { return nil }
    for (attribute, value) in own.values[uid] ?? [:] { record.values[attribute] = value }
    if let links = own.links[uid] { record.links = links }
    return record
  }

  func uids(in place: Int) -> [Int] {
    (Set(store.keys).subtracting(pending[place].deleted).union(pending[place].inserted.keys)).sorted()
  }

  var isClean: Bool { pending.allSatisfy(\.isEmpty) }

  /// Whether this context alone may say what is related to the models.
  func mayRelate(_ uids: some Sequence<Int>, in place: Int) -> Bool {
    uids.allSatisfy { uid in
      pending.indices.allSatisfy { $0 == place || !pending[$0].holds(uid) }
    }
  }

  // MARK: Changing

  mutating func insert(_ kind: Kind, in place: Int) -> Int {
    lastUID += 1
    pending[place].inserted[lastUID] = Record(kind)
    return lastUID
  }

  mutating func set(_ attribute: Field, _ value: PlainValue, of uid: Int, in place: Int) {
    if pending[place].inserted[uid] != nil {
      pending[place].inserted[uid]?.values[attribute] = value
    } else {
      pending[place].values[uid, default: [:]][attribute] = value
    }
  }

  /// The models that setting a link changes.
  func touched(_ link: Link, of uid: Int, to members: Set<Int>, in place: Int) -> Set<Int> {
    let old = record(uid, in: place)?[link] ?? []
    var touched = old.union(members).union([uid])
    if !link.inverse.isToMany {
      for member in members { touched.formUnion(record(member, in: place)?[link.inverse] ?? []) }
    }
    return touched
  }

  mutating func set(_ link: Link, of uid: Int, to members: Set<Int>, in place: Int) {
    let old = record(uid, in: place)?[link] ?? []
    for gone in old.subtracting(members) { edit(gone, link.inverse, in: place) { $0.remove(uid) } }
    for new in members.subtracting(old) {
      if !link.inverse.isToMany {
        // It leaves the one that it was with.
        for former in record(new, in: place)?[link.inverse] ?? [] where former != uid {
          edit(former, link, in: place) { $0.remove(new) }
        }
        edit(new, link.inverse, in: place) { $0 = [uid] }
      } else {
        edit(new, link.inverse, in: place) { $0.insert(uid) }
      }
    }
    edit(uid, link, in: place) { $0 = members }
  }

  private mutating func edit(_ uid: Int, _ link: Link, in place: Int, _ body: (inout Set<Int>) -> Void) {
    guard var record = record(uid, in: place) else { return }
    body(&record[link])
    if pending[place].inserted[uid] != nil {
      pending[place].inserted[uid]?.links = record.links
    } else {
      pending[place].links[uid] = record.links
    }
  }

  /// The models that go when these do, and those that lose something by it.
  func doomed(_ first: Set<Int>, in place: Int) -> (gone: Set<Int>, touched: Set<Int>) {
    var gone = first
    var touched = first
    var waiting = Array(first)
    while let uid = waiting.popLast() {
      for (link, members) in record(uid, in: place)?.links ?? [:] {
        touched.formUnion(members)
        if link.cascades {
          for member in members where gone.insert(member).inserted { waiting.append(member) }
        }
      }
    }
    return (gone, touched)
  }

  func mayDelete(_ uid: Int, in place: Int) -> Bool {
    let (gone, touched) = doomed([uid], in: place)
    return mayRelate(touched, in: place)
      && gone.allSatisfy { uid in pending.indices.allSatisfy { $0 == place || !pending[$0].touches(uid) } }
  }

  mutating func delete(_ first: Set<Int>, in place: Int) {
    let (gone, _) = doomed(first, in: place)
    for uid in gone.sorted() {
      for (link, members) in record(uid, in: place)?.links ?? [:] {
        for member in members where !gone.contains(member) {
          edit(member, link.inverse, in: place) { $0.remove(uid) }
        }
      }
    }
    for uid in gone {
      if pending[place].inserted.removeValue(forKey: uid) == nil { pending[place].deleted.insert(uid) }
      pending[place].values[uid] = nil
      pending[place].links[uid] = nil
    }
  }

  mutating func save(_ place: Int) {
    let own = pending[place]
    store.merge(own.inserted) { $1 }
    for (uid, values) in own.values {
      for (attribute, value) in values { settle(attribute, of: uid, before: value, saved: place) }
      store[uid]?.values.merge(values) { $1 }
    }
    for (uid, links) in own.links { store[uid]?.links = links }
    for uid in own.deleted { store[uid] = nil }
    pending[place] = Pending()
  }

  /// What others have set back to what was stored is no change when something else comes to be stored.
  private mutating func settle(
    _ attribute: Field, of uid: Int, before value: PlainValue, saved place: Int
  ) {
    guard let stored = store[uid]?.values[attribute], stored != value else { return }
    for other in pending.indices where other != place && pending[other].values[uid]?[attribute] == stored {
      pending[other].values[uid]?[attribute] = nil
      pending[other].hasSettled = true
    }
  }

  /// Something was done that changes nothing, and may count as a change.
  mutating func noteSettled(in place: Int) { pending[place].hasSettled = true }

  mutating func rollback(_ place: Int) { pending[place] = Pending() }

  /// A deletion of stored models at once; nothing is unsaved anywhere.
  mutating func deleteStored(_ uids: Set<Int>) {
    delete(uids, in: 0)
    save(0)
  }
}
