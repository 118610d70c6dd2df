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
  static func urls(in folder: URL) -> [URL] {
    let entries =
      (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return entries.filter { extensions.contains($0.pathExtension) }.sorted { $0.path < $1.path }
  }

  /// The source of a compiled model: `Shop.xcdatamodeld` for the `Shop.momd` that a program built by Xcode would have.
  static func source(of url: URL) -> URL {
    guard ["momd", "mom"].contains(url.pathExtension), !FileManager.default.fileExists(atPath: url.path)
    else {
      return url
    }
    let base = url.deletingPathExtension()
    return extensions.map { base.appendingPathExtension($0) }.first {
      FileManager.default.fileExists(atPath: $0.path)
    } ?? url
  }
}
