import SwiftData

/// A journal in a file: what the commands do.
struct Journal {
  let container: ModelContainer
  let context: ModelContext

  enum Failure: Error, Equatable, CustomStringConvertible {
    case noEntry(Int)
    case unknownMood(String)
    case emptyText

    var description: String {
      switch self {
      case .noEntry(let number): "There is no entry \(number)."
      case .unknownMood(let word):
        "“\(word)” is no mood; use \(Mood.allCases.map(\.rawValue).joined(separator: ", "))."
      case .emptyText: "An entry needs a text."
      }
    }
  }

  init(at url: URL) throws {
    container = try ModelContainer(
      for: Schema(versionedSchema: JournalV2.self), migrationPlan: JournalPlan.self,
      configurations: ModelConfiguration("Journal", url: url))
    context = ModelContext(container)
    context.autosaveEnabled = false
    context.author = "journal"
  }

  /// Entries are numbered from 1, oldest first.
  private var inOrder: FetchDescriptor<Entry> {
    FetchDescriptor(sortBy: [SortDescriptor(\.date), SortDescriptor(\.title)])
  }

  func entry(_ number: Int) throws -> Entry {
    var descriptor = inOrder
    descriptor.fetchLimit = 1
    descriptor.fetchOffset = number - 1
    guard number > 0, let entry = try context.fetch(descriptor).first else { throw Failure.noEntry(number) }
    return entry
  }

  @discardableResult
  func add(_ text: String, mood word: String = "calm", tags: [String] = [], on date: Date = .now) throws
    -> Entry
  {
    guard let mood = Mood(rawValue: word) else { throw Failure.unknownMood(word) }
    let lines = text.split(separator: "\n", maxSplits: 1).map(String.init)
    guard let title = lines.first, !title.isEmpty else { throw Failure.emptyText }
    let entry = Entry(title: title, body: lines.count > 1 ? lines[1] : "", date: date, mood: mood)
    context.insert(entry)
    entry.tags = try tags.map { try tag(named: $0) }
    try context.save()
    return entry
  }

  private func tag(named name: String) throws -> Tag {
    if let tag = try context.fetch(FetchDescriptor<Tag>(predicate: #Predicate { $0.name == name })).first {
      return tag
    }
    let tag = Tag(name: name)
    context.insert(tag)
    return tag
  }

  func list(tag: String? = nil, mood: Mood? = nil) throws -> [Entry] {
    var descriptor = inOrder
    if let tag {
      descriptor.predicate = #Predicate { entry in entry.tags.contains { $0.name == tag } }
    } else if let mood {
      descriptor.predicate = #Predicate { $0.mood == mood }
    }
    return try context.fetch(descriptor)
  }

  func search(_ text: String) throws -> [Entry] {
    var descriptor = inOrder
    descriptor.predicate = #Predicate {
      $0.title.localizedStandardContains(text) || $0.body.localizedStandardContains(text)
    }
    return try context.fetch(descriptor)
  }

  func delete(_ number: Int) throws {
    context.delete(try entry(number))
    try context.save()
  }

  /// What has happened, one line for each change, oldest first.
  func history() throws -> [String] {
    try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).flatMap { transaction in
      transaction.changes.map { change -> String in
        let what =
          switch change {
          case .insert: "wrote"
          case .update(let update as DefaultHistoryUpdate<Entry>):
            "changed \(update.updatedAttributes.count) of"
          case .update: "changed"
          case .delete(let delete as DefaultHistoryDelete<Entry>):
            "deleted “\(delete.tombstone[\.title] as? String ?? "")”,"
          case .delete: "deleted"
          }
        return "\(transaction.author ?? "somebody") \(what) \(change.changedPersistentIdentifier.entityName)"
      }
    }
  }
}

/// Counts and imports away from the main thread.
@ModelActor actor JournalWorker {
  struct Figures: Equatable, Sendable {
    var entries = 0
    var words = 0
    var moods: [String: Int] = [:]
    var tags: [String: Int] = [:]
  }

  func figures() throws -> Figures {
    var figures = Figures()
    try modelContext.enumerate(FetchDescriptor<Entry>()) { entry in
      figures.entries += 1
      figures.words += (entry.title + " " + entry.body).split(whereSeparator: \.isWhitespace).count
      figures.moods[entry.mood.rawValue, default: 0] += 1
      for tag in entry.tags { figures.tags[tag.name, default: 0] += 1 }
    }
    return figures
  }

  /// Takes entries that are separated by lines of dashes. Returns how many there were.
  func take(_ text: String, from start: Date) throws -> Int {
    modelContext.author = "import"
    let texts = text.components(separatedBy: "\n---\n")
      .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
      .filter { !$0.isEmpty }
    for (number, text) in texts.enumerated() {
      let lines = text.split(separator: "\n", maxSplits: 1).map(String.init)
      let entry = Entry(
        title: lines[0], body: lines.count > 1 ? lines[1] : "",
        date: start.addingTimeInterval(Double(number)))
      modelContext.insert(entry)
    }
    try modelContext.save()
    return texts.count
  }
}
