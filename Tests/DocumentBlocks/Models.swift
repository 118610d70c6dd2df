import Foundation
import StrataModels

// What Docs/Models.md takes for granted: Scripts/check-blocks compiles the page's code with it.

final class Author: ManagedObject {}

final class Chapter: ManagedObject {
  static let heading = Slot<Chapter, String>("heading")
  var heading: String { read(Chapter.heading) }
}

final class Tag: ManagedObject {
  static let name = Slot<Tag, String?>("name")
  var name: String? { read(Tag.name) }
}

/// The book whose members the page edits.
final class Novel: ManagedObject {
  static let tags = Slot<Novel, Set<Tag>>("tags")
  static let chapters = Slot<Novel, [Chapter]>("chapters")
  var tags: RelatedObjects<Tag> { members(Novel.tags) }
  var chapters: OrderedRelatedObjects<Chapter> { members(Novel.chapters) }
}
