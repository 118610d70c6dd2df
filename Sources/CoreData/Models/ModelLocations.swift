import Foundation
import StrataCore

/// Where models are looked for by name: what `Bundle.main` is on Apple's systems, here also the resource bundles that the package
/// manager puts beside the program.
enum ModelLocations {
  /// How a file or folder with a model is called, by preference.
  static let extensions = ["xcdatamodeld", "xcdatamodel"]

  /// The folders, in the order in which they are looked at.
  static func folders() -> [URL] {
    let bundles = bundleFolders()
    let current = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    return bundles.contains { $0.path == current.path } ? bundles : bundles + [current]
  }

  /// The folders of the main bundle and of the resource bundles beside the program.
  static func bundleFolders() -> [URL] {
    var folders: [URL] = []
    func add(_ url: URL?) {
      guard let url, !folders.contains(where: { $0.path == url.path }) else { return }
      folders.append(url)
    }
    add(Bundle.main.resourceURL)
    add(Bundle.main.bundleURL)
    let beside = Bundle.main.bundleURL
    let entries =
      (try? FileManager.default.contentsOfDirectory(at: beside, includingPropertiesForKeys: nil)) ?? []
    for entry in entries.sorted(by: { $0.path < $1.path })
    where ["resources", "bundle"].contains(entry.pathExtension) {
      add(entry)
    }
    return folders
  }

  /// The model called `name`.
  static func url(ofModelNamed name: String) -> URL? {
    for folder in folders() {
      for ending in extensions {
        let url = folder.appendingPathComponent("\(name).\(ending)")
        if FileManager.default.fileExists(atPath: url.path) { return url }
      }
    }
    return nil
  }

  /// The models in a bundle's resources.
  static func urls(in bundle: Bundle) -> [URL] {
    var found: [URL] = []
    for place in [bundle.resourceURL, bundle.bundleURL].compactMap({ $0 }) {
      for url in urls(in: place) where !found.contains(where: { $0.path == url.path }) { found.append(url) }
    }
    return found
  }

  /// The models in a folder.
  static func urls(in folder: URL) -> [URL] { urls(in: folder, extensions) }

  private static func urls(in folder: URL, _ endings: [String]) -> [URL] {
    let entries =
      (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return entries.filter { endings.contains($0.pathExtension) }.sorted { $0.path < $1.path }
  }

  /// The files with an ending in several folders, each once.
  static func urls(in folders: [URL], _ ending: String) -> [URL] {
    var found: [URL] = []
    for url in folders.flatMap({ urls(in: $0, [ending]) })
    where !found.contains(where: { $0.path == url.path }) {
      found.append(url)
    }
    return found
  }

  /// The mapping models in bundles' resources; in those of the main bundle, and of the resource bundles beside the program, for nil.
  static func mappingModels(in bundles: [Bundle]?) -> [URL] {
    let places =
      bundles.map { $0.flatMap { [$0.resourceURL, $0.bundleURL].compactMap { $0 } } } ?? bundleFolders()
    return urls(in: places, "xcmappingmodel")
  }

  /// The source of a compiled model: `Shop.xcdatamodeld` for the `Shop.momd` that a program built by Xcode would have, and
  /// `Shop.xcdatamodeld/Shop 2.xcdatamodel` for its `Shop.momd/Shop 2.mom`. The URL itself where there is no source beside it.
  static func source(of url: URL) -> URL {
    if url.pathExtension == "cdm" { return existing(url, as: "xcmappingmodel") }
    guard compiled.contains(url.pathExtension) else { return url }
    let base = url.deletingPathExtension()
    let folder = url.deletingLastPathComponent()
    var candidates = extensions.map { base.appendingPathExtension($0) }
    if url.pathExtension != "momd", folder.pathExtension == "momd" {
      candidates.append(
        folder.deletingPathExtension().appendingPathExtension("xcdatamodeld")
          .appendingPathComponent("\(base.lastPathComponent).xcdatamodel"))
    }
    return candidates.first { FileManager.default.fileExists(atPath: $0.path) } ?? url
  }

  private static func existing(_ url: URL, as ending: String) -> URL {
    let source = url.deletingPathExtension().appendingPathExtension(ending)
    return FileManager.default.fileExists(atPath: source.path) ? source : url
  }

  // MARK: Asked for as what Xcode would make of them

  /// The endings of compiled models, and of versions of one.
  static let compiled = ["momd", "mom", "omo", "cdm"]

  /// The sources of the compiled models with the ending `ending` that a bundle built by Xcode would have in `folder`, by name.
  ///
  /// A folder called `Shop.momd` stands for the versions in `Shop.xcdatamodeld`. What is compiled is left to Foundation.
  static func sources(_ ending: String, _ folder: String?, in bundle: Bundle) -> [URL] {
    guard compiled.contains(ending) else { return [] }
    var places = [bundle.resourceURL, bundle.bundleURL].compactMap { $0 }
    if bundle.bundleURL.path == Bundle.main.bundleURL.path { places += bundleFolders() }
    if let folder {
      places = places.map { place in
        let inner = place.appendingPathComponent(folder)
        guard inner.pathExtension == "momd" else { return inner }
        return inner.deletingPathExtension().appendingPathExtension("xcdatamodeld")
      }
    }
    // A model with versions becomes a folder, a single one a file.
    return urls(
      in: places, ending == "cdm" ? "xcmappingmodel" : ending == "momd" ? "xcdatamodeld" : "xcdatamodel")
  }
}

// The usual look-up of a model's file finds its source. Foundation's functions take optionals: for values that are none the compiler prefers these,
// which ask Foundation's first.

extension Bundle {
  /// The file of a resource. For the `momd` or `mom` of a model, which nothing compiles here, its source.
  public func url(forResource name: String, withExtension ext: String) -> URL? {
    url(forResource: name as String?, withExtension: ext as String?)
      ?? ModelLocations.sources(ext, nil, in: self).first {
        $0.deletingPathExtension().lastPathComponent == name
      }
  }

  /// The file of a resource in a folder. For a version of a model, `mom` in `Shop.momd`, its source.
  public func url(forResource name: String, withExtension ext: String, subdirectory subpath: String) -> URL? {
    url(forResource: name as String?, withExtension: ext as String?, subdirectory: subpath as String?)
      ?? ModelLocations.sources(ext, subpath, in: self).first {
        $0.deletingPathExtension().lastPathComponent == name
      }
  }

  /// The files of all resources with an ending. For the `momd` or `mom` of models, which nothing compiles here, their sources, and for `mom` in
  /// the folder `Shop.momd` those of its versions.
  public func urls(forResourcesWithExtension ext: String, subdirectory subpath: String?) -> [URL]? {
    // Foundation's gives NSURLs here.
    let found = (urls(forResourcesWithExtension: ext as String?, subdirectory: subpath) ?? []).compactMap {
      $0.path.map { URL(fileURLWithPath: $0) }
    }
    let sources = ModelLocations.sources(ext, subpath, in: self)
    return found.isEmpty && sources.isEmpty ? nil : found + sources
  }

  /// The path of a resource. For the `momd` or `mom` of a model, which nothing compiles here, that of its source.
  public func path(forResource name: String, ofType ext: String) -> String? {
    url(forResource: name, withExtension: ext)?.path
  }

  /// The paths of all resources with an ending. See `urls(forResourcesWithExtension:subdirectory:)`.
  public func paths(forResourcesOfType ext: String, inDirectory subpath: String?) -> [String] {
    paths(forResourcesOfType: ext as String?, inDirectory: subpath)
      + ModelLocations.sources(ext, subpath, in: self).map(\.path)
  }
}
