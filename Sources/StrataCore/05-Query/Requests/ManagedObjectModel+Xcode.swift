import Foundation

// Models as Xcode writes them, read at run time without a compiler. Docs/Models.md says what happens to every part.

extension ManagedObjectModel {
  /// Reads a model from the files that Xcode edits: an `.xcdatamodeld` folder (its current version), an `.xcdatamodel` folder, or a
  /// bare `contents` file. Core Data reads what Xcode has compiled of them.
  ///
  ///     let model = try ManagedObjectModel(contentsOf: folder.appendingPathComponent("Shop.xcdatamodeld"))
  ///     model.entitiesByName["Book"]?.managedObjectClass = Book.self
  ///
  /// The model remembers which versions lie beside it in the `.xcdatamodeld`: the program knows them, so stores of theirs may be migrated
  /// whatever goes (``MigrationPermission``).
  ///
  /// The current version is the one that `.xccurrentversion` names; without that file, the last one by name, “Shop 10” after
  /// “Shop 2”. The model can be changed until it is taken into use. Classes are found by `representedClassName` where that is
  /// `Module.Class` of this program; entities of other names have plain objects unless they are given a class.
  ///
  /// Nothing in the file is expanded, loaded or run: a document type, an encoding other than UTF-8, more than 8 MiB, 16 levels or
  /// 250,000 elements are refused. Reads the whole file; may be used from any thread.
  ///
  /// - Throws: ``ModelError`` with everything that is wrong, each sentence with file and line, or with the file alone where it is
  ///   about parts that do not fit together; also for what such a file can say and this model cannot.
  @_disfavoredOverload public convenience init(contentsOf url: URL) throws {
    let versions = try ModelVersion.all(of: url)
    guard let current = versions.first(where: \.isCurrent) else {
      throw ModelError("\(url.lastPathComponent): There is no current version.")
    }
    try self.init(xcodeContents: current.contents(), file: current.fileName)
    let folder = current.url.deletingLastPathComponent()
    versionsBeside =
      folder.pathExtension == "xcdatamodeld" ? (try? ModelVersion.all(of: folder)) ?? versions : versions
  }

  /// All versions of a model that Xcode edits, in the order of their names; see `init(contentsOf:)`. Of a single version, that one.
  ///
  ///     let models = try ManagedObjectModel.versions(of: url).map { try ManagedObjectModel(contentsOf: $0.url) }
  ///
  /// - Throws: ``ModelError`` when there is no model at `url`, or its current version cannot be told.
  public static func versions(of url: URL) throws -> [ModelVersion] { try ModelVersion.all(of: url) }

  /// The models at all `urls` as one; see `init(contentsOf:)` and `init(byMerging:)`.
  ///
  /// - Throws: ``ModelError``, of the first model that cannot be read, or naming the entities that two define differently.
  public static func mergedModel(contentsOf urls: [URL]) throws -> ManagedObjectModel {
    try ManagedObjectModel(byMerging: urls.map { try ManagedObjectModel(contentsOf: $0) })
  }

  /// Reads a description. `file` begins the sentences of the error.
  convenience init(xcodeContents data: Data, file: String) throws(ModelError) {
    let root: XcodeElement
    do { root = try XcodeDocument.root(of: data) } catch {
      throw ModelError(error.sentences.map { "\(file): \($0)" })
    }
    var reader = XcodeModelReader(root: root, file: file)
    let read = reader.read()
    var sentences = read.sentences
    if read.isSound {
      sentences += Self.addRequests(of: read, file) + Self.addIndexPredicates(of: read, file)
      let known = Set(sentences.map(Self.withoutPlace))
      sentences += ModelValidation.sentences(of: read.model).filter { !known.contains($0) }.prefix(200).map {
        "\(file): \($0)"
      }
    }
    guard sentences.isEmpty else { throw ModelError(sentences) }
    self.init(takingOver: read.model)
    templates = read.model.templates
  }

  private static func withoutPlace(_ sentence: String) -> String {
    guard let colon = sentence.range(of: ": ") else { return sentence }
    return String(sentence[colon.upperBound...])
  }

  // MARK: Requests

  /// Gives the model its templates and fetched properties; what is wrong with them.
  private static func addRequests(of read: XcodeModel, _ file: String) -> [String] {
    var sentences: [String] = []
    func request(_ source: XcodeRequest, _ place: String) -> FetchRequest<ManagedObjectID>? {
      do { return try makeRequest(source) } catch {
        let reason = (error as? PredicateSyntaxError)?.description ?? "\(error)"
        sentences.append("\(file), line \(source.line): The predicate of \(place) cannot be read: \(reason)")
        return nil
      }
    }
    for source in read.requests {
      if read.model.templates[source.name] != nil {
        sentences.append("\(file), line \(source.line): Two fetch requests are called \(source.name).")
      }
      read.model.setFetchRequestTemplate(
        request(source, "fetch request \(source.name)"), forName: source.name)
    }
    for source in read.fetchedProperties {
      let place = "fetched property \(source.entity.name ?? "").\(source.name)"
      guard let request = request(source.request, place) else { continue }
      let property = FetchedPropertyDescription(source.name, fetchRequest: request)
      property.isOptional = source.isOptional
      property.isTransient = source.isTransient
      property.explicitRenamingIdentifier = source.renamingIdentifier
      property.versionHashModifier = source.versionHashModifier
      property.userInfo = source.userInfo
      source.entity.properties.append(property)
    }
    return sentences
  }

  /// Gives indexes their predicates; what is wrong with them.
  private static func addIndexPredicates(of read: XcodeModel, _ file: String) -> [String] {
    var sentences: [String] = []
    for source in read.indexPredicates {
      do {
        source.index.partialIndexPredicate = try FetchPredicate(format: source.text)
      } catch {
        let reason = (error as? PredicateSyntaxError)?.description ?? "\(error)"
        sentences.append(
          "\(file), line \(source.line): The predicate of \(source.place) cannot be read: \(reason)")
      }
    }
    return sentences
  }

  private static func makeRequest(_ source: XcodeRequest) throws -> FetchRequest<ManagedObjectID> {
    var request = FetchRequest<ManagedObjectID>(entityName: source.entity, fetchLimit: source.fetchLimit)
    request.predicate = try source.predicate.map { try FetchPredicate(format: $0) }
    request.fetchBatchSize = source.fetchBatchSize
    request.includesSubentities = source.includesSubentities ?? request.includesSubentities
    request.includesPropertyValues = source.includesPropertyValues ?? request.includesPropertyValues
    request.includesPendingChanges = source.includesPendingChanges ?? request.includesPendingChanges
    request.returnsObjectsAsFaults = source.returnsObjectsAsFaults ?? request.returnsObjectsAsFaults
    request.returnsDistinctResults = source.returnsDistinctResults ?? request.returnsDistinctResults
    return request
  }
}
