import Foundation
import Testing

import Strata

/// The folder of a model in Xcode's form, with everything that such models can have.
private let shop = repository.appendingPathComponent("Tests/StrataTests/Models/Shop.xcdatamodeld")

/// What each part of a description turns into, by the fixture `Shop.xcdatamodeld`.
@Suite struct XcodeModelTests {
  private let model: ManagedObjectModel

  init() throws { model = try ManagedObjectModel(contentsOf: shop) }

  private func entity(_ name: String) throws -> EntityDescription { try #require(model.entitiesByName[name]) }

  private func attribute(_ name: String) throws -> AttributeDescription {
    try #require(try entity("Book").attributesByName[name])
  }

  @Test func entitiesKeepParentsClassesRenamesAndUserInfo() throws {
    #expect(Set(model.entities.compactMap(\.name)) == ["Article", "Book", "Author", "Shelf"])
    #expect(model.versionIdentifiers == ["Shop 2"])
    let article = try entity("Article")
    let book = try entity("Book")
    #expect(article.isAbstract && !book.isAbstract)
    #expect(book.superentity === article && article.subentities.map(\.name) == ["Book"])
    #expect(article.renamingIdentifier == "Goods")
    #expect(book.renamingIdentifier == "Book" && book.versionHashModifier == "second")
    #expect(book.managedObjectClassName == ".Book")
    #expect(try entity("Author").managedObjectClassName == "ManagedObject")
    #expect(try entity("Shelf").managedObjectClassName == "ShelfMO")
    #expect(book.userInfo as? [String: String] == ["table": "books", "Grüße": "a <b> & c"])
    #expect(try entity("Author").userInfo?.isEmpty == true)
  }

  @Test func attributesHaveTheTypesXcodeNames() throws {
    let types: [String: AttributeType] = [
      "code": .string, "summary": .string, "address": .composite, "copies": .integer16, "cover": .binaryData,
      "folded": .string, "home": .uri, "inPrint": .boolean, "key": .uuid, "notes": .transformable,
      "pages": .integer32, "price": .decimal, "published": .date, "rating": .float, "scratch": .undefined,
      "sold": .integer64, "title": .string, "weight": .double,
    ]
    #expect(try entity("Book").attributesByName.mapValues(\.attributeType) == types)
    #expect(try !attribute("title").isOptional && !attribute("inPrint").isOptional)
    #expect(try attribute("copies").isOptional && !attribute("copies").isTransient)
    #expect(try attribute("scratch").isTransient)
    #expect(try attribute("cover").allowsExternalBinaryDataStorage)
    #expect(try !attribute("home").allowsExternalBinaryDataStorage)
    #expect(try attribute("summary").preservesValueInHistoryOnDeletion)
    #expect(try attribute("summary").renamingIdentifier == "label")
    #expect(try attribute("notes").valueTransformerName == "NSSecureUnarchiveFromDataTransformer")
    #expect(try attribute("notes").attributeValueClassName == "NSArray")
    #expect(try attribute("sold").userInfo as? [String: String] == ["unit": "pieces"])
  }

  @Test func defaultsAreValuesOfTheirTypes() throws {
    func value(_ name: String) throws -> AttributeValue? {
      let attribute = try attribute(name)
      return AttributeValue(attribute.defaultValue, type: attribute.attributeType)
    }
    #expect(try value("copies") == .integer(1))
    #expect(try value("pages") == .integer(-100_000))
    #expect(try value("sold") == .integer(5_000_000_000))
    #expect(try value("price") == .decimal(Decimal(string: "9.95")!))
    #expect(try value("rating") == .float(0.5))
    #expect(try value("weight") == .double(125))
    #expect(try value("inPrint") == .boolean(true))
    #expect(try value("published") == .date(Date(timeIntervalSinceReferenceDate: 86_400.5)))
    #expect(try value("key") == .uuid(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF")!))
    #expect(try value("home") == .url(URL(string: "https://example.org/books")!))
    #expect(try value("title") == .string(""))
    #expect(try value("summary") == .string("no \"summary\""))
    #expect(try attribute("cover").defaultValue == nil)
  }

  @Test func boundsLengthsAndPatternsBecomeRules() throws {
    func rules(_ name: String) throws -> [String] {
      try attribute(name).validationRules.map { "\($0.condition)" }
    }
    #expect(try rules("code") == ["minimum length 3", "maximum length 12", #"pattern "[A-Z]{2,}-\d+""#])
    #expect(try rules("copies") == ["minimum 0", "maximum 500"])
    #expect(try rules("price") == ["minimum 0.01", "maximum 1000"])
    #expect(try rules("weight") == ["minimum -0.0015"])
    #expect(try rules("published").count == 2)
    let bounds = try attribute("published").validationRules.map(\.condition)
    guard case .minimum(.date(let low)) = bounds[0], case .maximum(.date(let high)) = bounds[1] else {
      Issue.record("\(bounds) are no dates")
      return
    }
    #expect(low == Date(timeIntervalSince1970: 0))
    #expect(high == Date(timeIntervalSinceReferenceDate: 3_000_000_000))
    #expect(try rules("title").isEmpty)
  }

  @Test func derivedAndCompositeAttributes() throws {
    let folded = try #require(try attribute("folded") as? DerivedAttributeDescription)
    #expect(folded.derivationExpression == "canonical:(title)")
    let address = try #require(try attribute("address") as? CompositeAttributeDescription)
    #expect(address.elements.map(\.name) == ["city", "position"])
    #expect(address.elements[0].defaultValue as? String == "Ulm")
    let position = try #require(address.elements[1] as? CompositeAttributeDescription)
    #expect(position.elements.map(\.name) == ["x", "y"])
  }

  @Test func relationshipsKeepCountsOrderRulesAndInverses() throws {
    let book = try entity("Book").relationshipsByName
    let authors = try #require(book["authors"])
    #expect(authors.isToMany && authors.isOrdered && authors.minCount == 1 && authors.maxCount == 4)
    #expect(authors.destinationEntity?.name == "Author" && authors.deleteRule == .nullify)
    let books = try #require(try entity("Author").relationshipsByName["books"])
    #expect(authors.inverseRelationship === books && books.inverseRelationship === authors)
    #expect(books.deleteRule == .deny && books.maxCount == 0 && !books.isOrdered)
    #expect(authors.userInfo as? [String: String] == ["role": "writer"])
    let sequel = try #require(book["sequel"])
    #expect(!sequel.isToMany && sequel.inverseRelationship == nil && sequel.deleteRule == .noAction)
    #expect(sequel.renamingIdentifier == "next")
    #expect(try entity("Shelf").relationshipsByName["articles"]?.deleteRule == .cascade)
  }

  @Test func predicatesOfIndexes() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(
      """
      <model><entity name="A"><attribute name="x" attributeType="Integer 64"/>
      <fetchIndex name="large" partialIndexPredicate="x &gt; 3 AND x != nil"><fetchIndexElement property="x"/></fetchIndex>
      <fetchIndex name="all"><fetchIndexElement property="x"/></fetchIndex></entity></model>
      """, to: "contents")
    let indexes = try #require(ManagedObjectModel(contentsOf: file).entitiesByName["A"]?.indexes)
    #expect(indexes.map(\.name) == ["large", "all"])
    #expect(indexes[0].partialIndexPredicate == (Attribute("x") > 3 && Attribute("x") != nil))
    #expect(indexes[1].partialIndexPredicate == nil)
  }

  @Test(
    "to-one relationships are parts of indexes, in both forms; to-many ones and indexes of nothing else are left out"
  )
  func indexesOfRelationships() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(
      """
      <model><entity name="A"><attribute name="x" attributeType="Integer 64"/><relationship name="b" maxCount="1" destinationEntity="B" inverseName="a" inverseEntity="B"/>
      <relationship name="bs" toMany="YES" destinationEntity="B"/>
      <fetchIndex name="newest"><fetchIndexElement property="b"/><fetchIndexElement property="x" order="descending"/><fetchIndexElement property="bs"/></fetchIndex>
      <fetchIndex name="alone"><fetchIndexElement property="b"/></fetchIndex>
      <compoundIndexes><compoundIndex><index value="x"/><index value="b"/></compoundIndex><compoundIndex><index value="b"/></compoundIndex></compoundIndexes></entity>
      <entity name="B"><relationship name="a" toMany="YES" destinationEntity="A" inverseName="b" inverseEntity="A"/></entity></model>
      """, to: "contents")
    let model = try ManagedObjectModel(contentsOf: file)
    let indexes = try #require(model.entitiesByName["A"]?.indexes)
    #expect(indexes.map { $0.elements.map(\.propertyName) } == [["b", "x"], ["x", "b"]])
    #expect(indexes[0].elements.map(\.isAscending) == [true, false])
    let store = try TemporaryStore(model)
    let context = store.context()
    let owners = [context.new("B"), context.new("B")]
    for number in 0..<20 { context.new("A", ["x": Int64(number), "b": owners[number % 2]]) }
    try context.save()
    var request = FetchRequest<ManagedObject>(
      entityName: "A", predicate: try FetchPredicate(format: "b == %@", argumentArray: [owners[1]]))
    request.sortDescriptors = [FetchSort("x", ascending: false)]
    request.fetchLimit = 2
    #expect(try context.fetch(request).map { $0["x"] as? Int64 } == [19, 17])
    #expect("\(try context.explain(request, .executing))".contains("index A.newest"))
    #expect(try store.problems() == [])
  }

  @Test func indexesAndConstraints() throws {
    let indexes = try entity("Book").indexes
    // An index of a relationship alone is dropped: its references are kept anyway.
    #expect(indexes.map(\.name) == ["byPrice", "byCity"])
    #expect(indexes[0].elements.map(\.propertyName) == ["price", "title"])
    #expect(indexes[0].elements.map(\.isAscending) == [false, true])
    #expect(indexes[1].elements.map(\.propertyName) == ["address.city"])
    #expect(try entity("Article").indexes.map(\.name) == ["byCode"])
    #expect(try entity("Article").uniquenessConstraints == [["code"]])
    #expect(try entity("Book").uniquenessConstraints == [["key", "published"]])
  }

  @Test func configurations() throws {
    #expect(model.configurations == ["Catalogue", "People"])
    #expect(model.entities(forConfigurationName: "People")?.map(\.name) == ["Author"])
    #expect(model.entities(forConfigurationName: "Catalogue")?.count == 4)
  }

  /// Rule 110.
  @Test func fetchRequestTemplates() throws {
    #expect(Set(model.fetchRequestTemplatesByName.keys) == ["allBooks", "dearerThan"])
    let all: FetchRequest<ManagedObject> = try #require(model.fetchRequestTemplate(forName: "allBooks"))
    #expect(all.entityName == "Book" && all.predicate == nil && all.includesSubentities)
    let dear: FetchRequest<ManagedObject> = try #require(
      try model.fetchRequestFromTemplate(
        withName: "dearerThan", substitutionVariables: ["PRICE": 5, "LETTER": "a"]))
    #expect(dear.fetchLimit == 20 && dear.fetchBatchSize == 5)
    #expect(!dear.includesSubentities && !dear.returnsObjectsAsFaults && dear.includesPendingChanges)
    #expect(
      dear.predicate == (try FetchPredicate(format: "price > 5 AND ANY authors.name BEGINSWITH[cd] 'a'")))
  }

  /// Rule 111.
  @Test func fetchedProperties() throws {
    let property = try #require(
      try entity("Book").propertiesByName["sameTitle"] as? FetchedPropertyDescription)
    #expect(property.fetchRequest?.entityName == "Book" && property.isOptional)
    #expect(property.userInfo as? [String: String] == ["kind": "weak"])
    #expect(
      property.fetchRequest?.predicate
        == (try FetchPredicate(format: "title == $FETCH_SOURCE.title AND code != $FETCH_SOURCE.code")))
  }

  /// Rules 299 and 301: the same model made in code has the same hash, in another order too.
  @Test func hashesAreThoseOfTheSameModelInCode() throws {
    let author = EntityDescription("Author")
    let books = EntityDescription("Book")
    let article = EntityDescription("Article", isAbstract: true, subentities: [books])
    article.properties = [
      AttributeDescription("summary", .string), AttributeDescription("code", .string, isOptional: false),
    ]
    article.uniquenessConstraints = [["code"]]
    #expect(try entity("Article").versionHash == article.versionHash)
    let back = RelationshipDescription("books", to: books, maxCount: 0, deleteRule: .deny)
    let there = RelationshipDescription("authors", to: author, minCount: 1, maxCount: 4, isOrdered: true)
    there.inverseRelationship = back
    back.inverseRelationship = there
    author.properties = [
      back, AttributeDescription("name", .string, isOptional: false),
      DerivedAttributeDescription("bookCount", .integer64, derivationExpression: "books.@count"),
    ]
    books.properties = [there]
    #expect(try entity("Author").versionHash == author.versionHash)
  }

  // MARK: Use

  /// The whole way: a store of the model, objects of all entities, templates and fetched properties executed.
  @Test func objectsOfTheModelAreStoredAndFetched() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      PersistentStoreDescription(url: folder.url.appendingPathComponent("shop.strata")))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try await context.perform {
      let names = ["Anna", "Bert"]
      let authors = try names.map { name in
        let author = try EntityDescription.insertNewObject(forEntityName: "Author", into: context)
        author.setValue(name, forKey: "name")
        return author
      }
      for number in 1...3 {
        let book = try EntityDescription.insertNewObject(forEntityName: "Book", into: context)
        book.setValue("AB-\(number)", forKey: "code")
        book.setValue("Ähren", forKey: "title")
        book.setValue(Decimal(number * 4), forKey: "price")
        book.setValue(UUID(), forKey: "key")
        book.setValue(authors, forKey: "authors")
        book.setValue(["city": "Bonn", "position": ["x": 1.5, "y": 2.5]], forKey: "address")
        book.setValue([1, 2], forKey: "notes")
      }
      try context.save()
      let faulty = try EntityDescription.insertNewObject(forEntityName: "Book", into: context)
      faulty.setValue("nothing", forKey: "code")
      #expect(throws: (any Error).self) { try context.save() }
      context.rollback()
      let request: FetchRequest<ManagedObject> = try #require(
        try model.fetchRequestFromTemplate(
          withName: "dearerThan", substitutionVariables: ["PRICE": 5, "LETTER": "a"]))
      let dear = try context.fetch(request)
      #expect(Set(dear.map { $0.value(forKey: "code") as? String }) == ["AB-2", "AB-3"])
      let book = try #require(dear.first)
      #expect(book.value(forKey: "folded") as? String == "ahren")
      #expect(book.value(forKeyPath: "address.position.y") as? Double == 2.5)
      #expect(try book.fetchedObjects(forKey: "sameTitle").count == 2)
      let author = try #require(
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Author")).first)
      #expect(author.value(forKey: "bookCount") as? Int64 == 3)
    }
  }
}
