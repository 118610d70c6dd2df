import SwiftData

/// The first version: entries with a text and a list of words.
enum JournalV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self] }

  @Model final class Entry {
    var text: String
    var date: Date
    var words: [String] = []

    init(text: String, date: Date, words: [String] = []) {
      self.text = text
      self.date = date
      self.words = words
    }
  }
}

/// The present version: words are tags, which entries share; an entry has a mood and a title.
enum JournalV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self, Tag.self] }

  enum Mood: String, Codable, CaseIterable, Sendable { case calm, glad, low, busy }

  @Model final class Entry {
    #Index<Entry>([\.date])

    @Attribute(.preserveValueOnDeletion) var title: String = ""
    @Attribute(originalName: "text") var body: String
    var date: Date
    var mood: Mood = Mood.calm
    var words: [String] = []
    @Relationship(inverse: \Tag.entries) var tags: [Tag] = []

    init(title: String, body: String, date: Date, mood: Mood = .calm) {
      self.title = title
      self.body = body
      self.date = date
      self.mood = mood
    }
  }

  @Model final class Tag {
    @Attribute(.unique) var name: String
    var entries: [Entry] = []

    init(name: String) { self.name = name }
  }
}

typealias Entry = JournalV2.Entry
typealias Tag = JournalV2.Tag
typealias Mood = JournalV2.Mood

enum JournalPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [JournalV1.self, JournalV2.self] }
  static var stages: [MigrationStage] { [wordsToTags] }

  /// The words of entries become tags, and the first line of a text its title.
  static let wordsToTags = MigrationStage.custom(
    fromVersion: JournalV1.self, toVersion: JournalV2.self, willMigrate: nil,
    didMigrate: { context in
      var tags: [String: Tag] = [:]
      for entry in try context.fetch(FetchDescriptor<Entry>()) {
        entry.title = entry.body.split(separator: "\n").first.map(String.init) ?? ""
        for word in entry.words {
          let tag = tags[word] ?? Tag(name: word)
          if tags.updateValue(tag, forKey: word) == nil { context.insert(tag) }
          entry.tags.append(tag)
        }
        entry.words = []
      }
      try context.save()
    })
}
