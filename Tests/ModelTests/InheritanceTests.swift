import Foundation
import StrataModels
import Testing
import TortureKit

@Managed(.abstract) class Publication: ManagedObject {
  @Unique var code: String
  var title = ""
  @Relationship(inverse: \Shelf.publications) var shelf: Shelf?
}

@Managed class Novel: Publication {
  var chapters = 0
  var genre: String?
}

@Managed final class Thriller: Novel {
  var deaths = 1
}

@Managed final class Magazine: Publication {
  var issue: Int32 = 0
  var glossy: Bool?
}

@Managed final class Shelf: ManagedObject {
  var name = ""
  @Relationship var publications: Set<Publication>
}

@Suite("Classes with @Managed that inherit from each other")
struct InheritanceTests {
  private func container() async throws -> PersistentContainer {
    try await PersistentContainer(for: Thriller.self, Magazine.self, at: .inMemory)
  }

  @Test("Superclasses are superentities, abstract ones without objects of their own")
  func superclassesAreSuperentities() throws {
    let model = try ManagedObjectModel(for: Thriller.self, Magazine.self)
    #expect(model.entitiesByName.keys.sorted() == ["Magazine", "Novel", "Publication", "Shelf", "Thriller"])
    let entities = model.entitiesByName
    #expect(entities["Publication"]?.isAbstract == true && entities["Novel"]?.isAbstract == false)
    #expect(entities["Thriller"]?.superentity === entities["Novel"])
    #expect(entities["Novel"]?.superentity === entities["Publication"])
    #expect(entities["Magazine"]?.superentity === entities["Publication"])
    #expect(entities["Shelf"]?.superentity == nil)
  }

  @Test("Inherited properties are right in each subclass, used by turns")
  func inheritedProperties() async throws {
    let container = try await container()
    try await container.performBackgroundTask { context in
      let shelf = Shelf(context: context)
      for number in 0..<12 {
        let publication: Publication
        switch number % 3 {
        case 0:
          let novel = Novel(context: context)
          novel.chapters = number
          novel.genre = "g\(number)"
          publication = novel
        case 1:
          let thriller = Thriller(context: context)
          thriller.chapters = number
          thriller.deaths = number * 2
          publication = thriller
        default:
          let magazine = Magazine(context: context)
          magazine.issue = Int32(number)
          magazine.glossy = number % 2 == 0
          publication = magazine
        }
        publication.code = "c\(number)"
        publication.title = "t\(number)"
        publication.shelf = shelf
      }
      try context.save()
    }
    try await container.performBackgroundTask { context in
      let request = FetchRequest<Publication>(
        entityName: "Publication", sortDescriptors: [FetchSort("title")])
      let all = try context.fetch(request)
      #expect(all.count == 12)
      for publication in all {
        let number = try #require(Int(publication.title.dropFirst()))
        #expect(publication.code == "c\(number)" && publication.shelf?.publications.count == 12)
        switch publication {
        case let thriller as Thriller: #expect(thriller.chapters == number && thriller.deaths == number * 2)
        case let novel as Novel: #expect(novel.chapters == number && novel.genre == "g\(number)")
        case let magazine as Magazine:
          #expect(magazine.issue == Int32(number) && magazine.glossy == (number % 2 == 0))
        default: Issue.record("a publication of class \(type(of: publication))")
        }
      }
      // Written by turns, too.
      for publication in all { publication.title += "!" }
      try context.save()
      context.refreshAllObjects()
      #expect(all.allSatisfy { $0.title == "t" + $0.code.dropFirst() + "!" })
    }
  }

  @Test("The value of a subclass holds its superclass's, in one flat JSON object")
  func values() async throws {
    let container = try await container()
    try await container.performBackgroundTask { context in
      let thriller = Thriller(context: context)
      thriller.code = "c"
      thriller.title = "Rebecca"
      thriller.chapters = 27
      thriller.deaths = 2
      let value = thriller.value
      #expect(
        value.deaths == 2 && value.inherited.chapters == 27 && value.inherited.inherited.title == "Rebecca")
      let data = try JSONEncoder().encode(value)
      let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      #expect(object.keys.sorted() == ["chapters", "code", "deaths", "title"])
      #expect(try JSONDecoder().decode(Thriller.Value.self, from: data) == value)
      #expect(Publication.Value(thriller) == value.inherited.inherited)
      var other = value
      other.inherited.inherited.code = "d"
      let copy = try context.insert(other)
      #expect(copy.code == "d" && copy.title == "Rebecca" && copy.chapters == 27 && copy.deaths == 2)
    }
  }
}
